// ReusedBuffer: memory for bytes on their way between files, messages and the user's memory. It only grows,
// so that one access after the other finds it there.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "base/types.hpp"

namespace tasuki {

class ReusedBuffer {
 public:
  /// At least `bytes` bytes, which mean nothing; those that were given before may be gone. They begin at a
  /// line of the processor's cache. Null as long as nothing was asked for.
  std::byte* take(Count bytes) {
    if (bytes > bytes_) {
      memory_.reset();  // never both at once
      memory_.reset(new (kAlignment) std::byte[static_cast<std::size_t>(bytes)]);
      bytes_ = bytes;
    }
    return memory_.get();
  }
  /// The most that was asked for.
  Count bytes() const { return bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Delete {
    void operator()(std::byte* memory) const { operator delete[](memory, kAlignment); }
  };

  std::unique_ptr<std::byte[], Delete> memory_;
  Count bytes_ = 0;
};

}  // namespace tasuki
