// Making a communicator's node segment and hierarchy: see coll/run/communicator_state.hpp.
#include "coll/run/communicator_state.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "coll/byte_collectives.hpp"
#include "coll/run/execution.hpp"
#include "placement/node_map.hpp"
#include "tuning/cost.hpp"

namespace tasuki {
namespace {

/// Whether all ranks of `comm` say so, as all learn.
bool all_agree(Comm& comm, bool here) {
  const std::uint8_t mine = here ? 1 : 0;
  std::vector<std::uint8_t> all(static_cast<std::size_t>(comm.size()));
  if (allgather_bytes(comm, &mine, all.data(), 1) != 0) return false;
  return std::find(all.begin(), all.end(), 0) == all.end();
}

}  // namespace

void set_flag_limits(NodeSegment& segment) {
  Collectives& collectives = *segment.comm().process.collectives;
  Problem any = problem_of(segment.comm(), Operation::kBarrier, 0, CollectiveForm::kBlocking);
  any.node_segment = true;
  any.flags = true;
  any.repeatable = segment.comm().repeatable();
  NodeSegment::Explain explain;
  if (collectives.selector.explains()) {
    explain = [&collectives, &segment, any](FlagOperation operation, Count bytes, Repeatable repeatable) {
      Problem now = any;
      now.repeatable = repeatable;
      now.near_lines = segment.near_lines();
      explain_flag_collective(now, operation, bytes, collectives.selector);
    };
  }
  const auto limits = [&](bool near_lines) {
    any.near_lines = near_lines;
    return collectives.flag_limits.find(any, [&] { return flag_limits_for(any, collectives.selector); });
  };
  const FlagLimits near_limits = limits(true), far_limits = limits(false);
  const bool streams = is_streamed(kKeptBytesMax, any, collectives.selector.parameters_for(any));
  segment.set_flag_limits(far_limits, near_limits, streams, std::move(explain));
}

NodeSegment* try_to_make_node_segment(Comm& comm) {
  comm.slots.set(kNodeSegmentSlot, std::shared_ptr<NodeSegment>());
  if (comm.size() < 2 || comm.is_inter()) return nullptr;
  if (node_map(comm).nodes() > 1) return nullptr;
  if (comm.process.config.checks(kCheckCompare))
    return nullptr;  // all collectives run schedules, which compare first
  comm.slots.set(kNodeSegmentSlot, NodeSegment::make(comm, comm.process.collectives->node_segments));
  NodeSegment* segment = comm.slots.get(kNodeSegmentSlot);
  if (segment != nullptr) set_flag_limits(*segment);
  return segment;
}

bool may_have_hierarchy(Comm& comm) {
  if (comm.slots.is_set(kHierarchySlot) && comm.slots.get(kHierarchySlot) == nullptr) return false;
  if (comm.is_inter() || comm.process.config.checks(kCheckCompare)) return false;  // no node segment either
  const NodeMap& map = node_map(comm);
  return map.nodes() > 1 && map.largest() > 1;
}

namespace {

Hierarchy* make_hierarchy(Comm& comm) {
  comm.slots.set(kHierarchySlot, std::shared_ptr<Hierarchy>());  // making it runs collectives on `comm`
  std::shared_ptr<Hierarchy> hierarchy = Hierarchy::make(comm);
  if (hierarchy == nullptr) return nullptr;
  const bool is_ready = hierarchy->is_alone() || node_segment_of(hierarchy->node()) != nullptr;
  if (all_agree(comm, is_ready)) comm.slots.set(kHierarchySlot, std::move(hierarchy));
  return comm.slots.get(kHierarchySlot);
}

}  // namespace

Hierarchy* hierarchy_of(Comm& comm) {
  const bool is_known = comm.slots.is_set(kHierarchySlot);
  Hierarchy* hierarchy = is_known ? comm.slots.get(kHierarchySlot) : make_hierarchy(comm);
  // A hint may have come since the last call.
  if (hierarchy != nullptr)
    hierarchy->node().repeatable_hint = hierarchy->lane().repeatable_hint = comm.repeatable();
  return hierarchy;
}

}  // namespace tasuki
