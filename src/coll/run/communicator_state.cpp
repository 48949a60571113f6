// Making a communicator's stage and levels: see coll/run/communicator_state.hpp.
#include "coll/run/communicator_state.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "coll/byte_collectives.hpp"
#include "coll/run/execution.hpp"
#include "placement/node_map.hpp"

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

void set_quick_limits(Stage& stage) {
  Collectives& collectives = *stage.comm().process.collectives;
  Problem any = problem_of(stage.comm(), Operation::kBarrier, 0, CollectiveForm::kBlocking);
  any.stage = true;
  any.quick = true;
  Stage::Explain explain;
  if (collectives.selector.explains()) {
    explain = [&collectives, any](QuickOperation operation, Count bytes) {
      explain_quick(any, operation, bytes, collectives.selector);
    };
  }
  const auto price = [&] { return quick_limits_for(any, collectives.selector); };
  stage.set_quick_limits(collectives.quick_limits.find(any, price), std::move(explain));
}

Stage* try_to_make_stage(Comm& comm) {
  comm.stage_tried = true;
  if (comm.size() < 2 || comm.is_inter()) return nullptr;
  if (node_map(comm).nodes() > 1) return nullptr;
  if (comm.process.config.checks(kCheckCompare))
    return nullptr;  // all collectives run schedules, which compare first
  comm.stage = Stage::make(comm, comm.process.collectives->stages);
  if (comm.stage) set_quick_limits(*comm.stage);
  return comm.stage.get();
}

bool may_have_levels(Comm& comm, Operation operation) {
  if (comm.levels == nullptr && comm.levels_tried) return false;
  if (comm.is_inter() || comm.process.config.checks(kCheckCompare)) return false;  // no stage either
  const NodeMap& map = node_map(comm);
  return map.nodes() > 1 && map.largest() > 1 && (map.is_uniform() || takes_any_nodes(operation));
}

Levels* levels_of(Comm& comm) {
  if (comm.levels_tried) return comm.levels.get();
  comm.levels_tried = true;
  std::shared_ptr<Levels> levels = Levels::make(comm);
  if (levels == nullptr) return nullptr;
  const bool is_ready = levels->is_alone() || stage_of(levels->node()) != nullptr;
  if (all_agree(comm, is_ready)) comm.levels = std::move(levels);
  return comm.levels.get();
}

}  // namespace tasuki
