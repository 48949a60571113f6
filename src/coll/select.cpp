// The memory of choices: see coll/select.hpp.
#include "coll/select.hpp"

#include <cstdint>

namespace tasuki {

std::size_t Selector::slot_of(const Problem& problem) {
  constexpr int kSlotBits = 6;
  static_assert(kSlots == 1U << kSlotBits);
  const auto mixed =
      (static_cast<std::uint64_t>(problem.bytes) << 4 ^ static_cast<std::uint64_t>(problem.size) << 40 ^
       static_cast<std::uint64_t>(problem.operation)) *
      0x9e3779b97f4a7c15U;
  return static_cast<std::size_t>(mixed >> (64 - kSlotBits));
}

Wanted Selector::wanted(Operation operation) const {
  const std::int64_t place = config_.*operation_row(operation).algorithm;
  return {.algorithm = place > 0 ? first_algorithm_of(operation) + static_cast<int>(place) - 1 : -1,
          .segment_bytes = config_.segment_bytes};
}

}  // namespace tasuki
