// PackCursor and copy_typed: bytes between users' buffers and packed form.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/copy.hpp"
#include "datatype/datatype.hpp"
#include "datatype/layout.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kBounceBytes = 16 * 1024;  // fits the first-level cache beside source and target

PlacedElements elements_of(const void* buffer, Count count, const Datatype& datatype) {
  return {reinterpret_cast<std::uintptr_t>(buffer), count, datatype.extent, *datatype.layout};
}

}  // namespace

std::size_t PackCursor::pack(const void* buffer, void* out, std::size_t bytes_max) {
  const Count bytes = static_cast<Count>(
      std::min<std::uint64_t>(bytes_max, static_cast<std::uint64_t>(total_bytes_ - position_)));
  if (bytes == 0) return 0;
  if (datatype_->contiguous) {
    copy_bytes(out, static_cast<const std::byte*>(buffer) + position_, static_cast<std::size_t>(bytes));
  } else {
    pack_range(elements_of(buffer, count_, *datatype_), position_, position_ + bytes,
               static_cast<std::byte*>(out));
  }
  position_ += bytes;
  return static_cast<std::size_t>(bytes);
}

std::size_t PackCursor::unpack(void* buffer, const void* in, std::size_t bytes_max) {
  const Count bytes = static_cast<Count>(
      std::min<std::uint64_t>(bytes_max, static_cast<std::uint64_t>(total_bytes_ - position_)));
  if (bytes == 0) return 0;
  if (datatype_->contiguous) {
    copy_bytes(static_cast<std::byte*>(buffer) + position_, in, static_cast<std::size_t>(bytes));
  } else {
    unpack_range(elements_of(buffer, count_, *datatype_), position_, position_ + bytes,
                 static_cast<const std::byte*>(in));
  }
  position_ += bytes;
  return static_cast<std::size_t>(bytes);
}

void copy_typed(const void* from, Count from_count, const Datatype& from_type, void* to, Count to_count,
                const Datatype& to_type) {
  PackCursor source(from_type, from_count);
  PackCursor target(to_type, to_count);
  const Count bytes = std::min(source.total_bytes(), target.total_bytes());
  if (bytes == 0) return;
  if (to_type.contiguous) {
    source.pack(from, to, static_cast<std::size_t>(bytes));
  } else if (from_type.contiguous) {
    target.unpack(to, from, static_cast<std::size_t>(bytes));
  } else if (from_type.layout == to_type.layout && from_type.extent == to_type.extent) {
    copy_range(elements_of(from, from_count, from_type), 0, bytes, reinterpret_cast<std::uintptr_t>(to));
  } else {
    std::array<std::byte, kBounceBytes> bounce;
    for (Count done = 0; done < bytes;) {
      const auto wanted = static_cast<std::size_t>(std::min<Count>(kBounceBytes, bytes - done));
      const std::size_t moved = source.pack(from, bounce.data(), wanted);
      target.unpack(to, bounce.data(), moved);
      done += static_cast<Count>(moved);
    }
  }
}

}  // namespace tasuki
