// Origins: the calls that gave the program its handles. Two reports name them: that of leaks
// (binding/collect_leaks.hpp), for which each call is noted (TASUKI_CHECK=3), and the error when there are no
// more handles, for which it is enough to know which calls made the table grow (always noted).
//
// Thread safety: the caller holds the process lock, if there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/user_memory.hpp"
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
    Entry* const entry = entry_of(HandleTable::slot_number(value));
    if (entry != nullptr && entry->value != value) *entry = {value, origin};
  }
  /// Remembers the call that slot `number` was made for.
  void note_new_slot(std::uint32_t number, const Origin& origin) {
    if (Entry* const entry = entry_of(number)) *entry = {0, origin};
  }

  /// The call that was noted for this handle; unknown if there is none.
  Origin find(std::uint32_t value) const {
    const std::size_t number = HandleTable::slot_number(value);
    return number < entries_.size() && entries_[number].value == value ? entries_[number].origin : Origin{};
  }
  /// The same, or the call that the handle's slot was made for, if this is the first of the slot's handles.
  Origin find(std::uint32_t value, const HandleTable& table) const {
    const Origin noted = find(value);
    const std::size_t number = HandleTable::slot_number(value);
    if (noted.function != nullptr || number >= entries_.size() || entries_[number].value != 0) return noted;
    return table.is_first_of_slot(value) ? entries_[number].origin : noted;
  }

 private:
  struct Entry {
    std::uint32_t value = 0;  // 0: noted for the slot
    Origin origin;
  };
  /// Null where memory is short: then this origin stays unknown.
  Entry* entry_of(std::size_t number) {
    if (number >= entries_.size()) {
      if (number >= entries_.capacity() && !try_reserve(&entries_, 2 * number + 16)) return nullptr;
      entries_.resize(number + 1);
    }
    return &entries_[number];
  }

  std::vector<Entry> entries_;  // by the number of the slot
};

}  // namespace tasuki
