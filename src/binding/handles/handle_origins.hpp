// Origins: the call that gave the program each of its handles. Kept with TASUKI_CHECK=3 alone, for the report
// on leaks (binding/collect_leaks.hpp).
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
  /// Remembers the call that gave the program the handle `value`. Of several calls the first counts.
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
