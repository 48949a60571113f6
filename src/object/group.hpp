// Questions that other parts ask about groups.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "object/comm.hpp"

namespace tasuki {

/// kIdent: same members in the same order; kSimilar: in another order; else kUnequal.
Comparison compare_groups(const Group& group1, const Group& group2);

/// (*ranks)[i] is the rank in `into` of `group`'s rank i, or kUndefined. Returns whether all are members.
bool translate_group(const Group& group, const Group& into, std::vector<int>* ranks);

}  // namespace tasuki
