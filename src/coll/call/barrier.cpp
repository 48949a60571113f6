// MPI_Barrier (MPI 6.3).
#include "coll/api.hpp"
#include "coll/call/intercommunicator.hpp"
#include "coll/check/arguments.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
namespace {

constexpr auto plan_barrier = [](Execution& execution) -> Code {
  execution.describe(CollectiveCall::kBarrier);
  if (execution.comm().is_inter()) return plan_inter_barrier(execution);
  plan_chosen(execution, execution.problem(Operation::kBarrier, 0), 0, {});
  return 0;
};

}  // namespace

namespace api {

Code barrier(Process&, Comm* comm) {
  if (NodeSegment* segment = node_segment_of(*comm); segment != nullptr && flag_barrier(*comm, *segment))
    return 0;
  return run_collective(*comm, plan_barrier);
}

Code ibarrier(Process&, Comm* comm, Request** request) {
  return start_collective(*comm, request, plan_barrier);
}

Code barrier_init(Process&, Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request, plan_barrier);
}

}  // namespace api
}  // namespace tasuki
