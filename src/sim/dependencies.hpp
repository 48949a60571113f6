// The bytes of a step, and which steps wait for which by the executor's rule, where all elements that are not
// raw bytes have one size and no gaps.
#pragma once

#include "coll/schedule/dependencies.hpp"
#include "coll/schedule/schedule.hpp"

namespace tasuki::sim {

inline TypeShape shape_of(ElementType type, Count reduced_element_bytes) {
  const Count bytes = type == ElementType::kBytes ? 1 : reduced_element_bytes;
  return {.size = bytes, .extent = bytes, .true_extent = bytes};
}

inline Count bytes_of(const Step& step, Count reduced_element_bytes) {
  return step.count * shape_of(step.type, reduced_element_bytes).size;
}

/// Goes to `found`, whose memory is used again.
inline void find_dependencies(const Schedule& schedule, Count reduced_element_bytes, Dependencies* found) {
  found->find(schedule, [=](ElementType type, int) { return shape_of(type, reduced_element_bytes); });
}

}  // namespace tasuki::sim
