// Origins: by which call the program got each of its handles, kept with TASUKI_CHECK=3 alone: for what it
// leaves behind at the end (leaks.cpp).
//
// Thread safety: the caller holds the process lock, if there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "binding/handles/handle_table.hpp"

namespace tasuki {

/// A call.
struct Origin {
  const char* function = nullptr;  // constant text; null: unknown
  std::uint64_t site = 0;          // where it returns to; 0: unknown
};

class Origins {
 public:
  /// The call that gave the program the handle `value`. Of several that give out the same object, the first.
  void note(std::uint32_t value, const Origin& origin) {
    const std::size_t index = value & HandleTable::kIndexMask;
    if (index >= entries_.size()) entries_.resize(index + 1);
    if (entries_[index].value != value) entries_[index] = {value, origin};
  }
  Origin find(std::uint32_t value) const {
    const std::size_t index = value & HandleTable::kIndexMask;
    return index < entries_.size() && entries_[index].value == value ? entries_[index].origin : Origin{};
  }

 private:
  struct Entry {
    std::uint32_t value = 0;
    Origin origin;
  };
  std::vector<Entry> entries_;  // by the slot of the handle
};

}  // namespace tasuki
