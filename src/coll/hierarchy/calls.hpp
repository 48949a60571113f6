// A blocking hierarchical collective: each part (coll/hierarchy/parts.hpp) is a blocking collective on a
// hidden communicator (coll/hierarchy/communicators.hpp), which chooses its algorithm like any other. So
// flags and exposed buffers serve within the nodes. The schedule has this rank's own copies and reductions,
// and between them steps that call the parts.
//
// Thread safety: the caller holds the process lock.
#pragma once

#include <vector>

#include "coll/hierarchy/communicators.hpp"
#include "coll/hierarchy/parts.hpp"
#include "coll/schedule/bound_schedule.hpp"

namespace tasuki::hierarchy {

/// Keeps the parts in `calls`, and adds to the schedule a step for each, which refers to it by its number.
/// REQUIRES: Hierarchy::has_lane_of(root).
class PartsToCall final : public Parts {
 public:
  PartsToCall(Schedule& rank_schedule, const NodeMap& node_map, int own_rank, int root,
              std::vector<Part>& calls)
      : Parts(rank_schedule, node_map, own_rank, root), calls_(calls) {}

 private:
  void add(const Part& part) override {
    schedule.call(static_cast<int>(calls_.size()));
    calls_.push_back(part);
  }

  std::vector<Part>& calls_;
};

/// Calls the collective that is this part of the bound call.
Code call_part(const BoundSchedule& bound, const Hierarchy& hierarchy, const Part& part);

}  // namespace tasuki::hierarchy
