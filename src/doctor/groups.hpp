// The table: ranks that are in the same state share a line. Pure.
#pragma once

#include <vector>

#include "doctor/diagnose.hpp"

namespace tasuki::doctor {

/// Appends the groups of one world, in the order of their first ranks.
void group_ranks(const World& world, int world_index, std::int64_t at_ns, std::vector<Group>* groups);

}  // namespace tasuki::doctor
