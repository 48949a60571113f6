// MPI_Reduce_scatter_block and MPI_Reduce_scatter (MPI 6.10). `parts` says which elements of the vector each
// rank gets; its blocks lie one after the other.
#include "coll/api.hpp"
#include "coll/call/intercommunicator.hpp"
#include "coll/check/arguments.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
namespace {

Code plan_reduce_scatter(Execution& execution, const void* sendbuf, void* recvbuf, const Blocks& parts,
                         Datatype* datatype, Op* op) {
  Process& process = execution.process();
  const Member self = execution.self();
  if (const Code code = check_blocks(process, "recvcount", parts, self.size); code != 0) return code;
  const Count count = parts.elements_before(self.size);
  if (execution.comm().is_inter())
    return plan_inter_reduce_scatter(execution, sendbuf, recvbuf, count, parts, datatype, op);
  if (const Code code = check_reduction(execution.comm(), count, *datatype, *op); code != 0) return code;
  // With nothing to receive, the two buffers cannot overlap.
  const Code code = check_result(process, sendbuf, recvbuf, *datatype, parts.count_of(self.rank));
  if (code != 0) return code;
  execution.arguments = {.send = sendbuf, .receive = recvbuf, .receive_type = datatype, .op = op};
  const Reduction data = vector_of(execution.comm(), sendbuf, count, *datatype, *op);
  Problem problem = execution.problem(Operation::kReduceScatter, data);
  problem.uniform = parts.uniform();
  plan_chosen(execution, problem, 0, {.blocks = parts, .vector = data});
  return 0;
}

auto reduce_scatter_block_plan(const void* sendbuf, void* recvbuf, Count recvcount, Datatype* datatype,
                               Op* op) {
  return [=](Execution& execution) {
    execution.describe(CollectiveCall::kReduceScatterBlock,
                       {.op = op, .type = datatype, .count = recvcount, .blocks = execution.comm().size()});
    const Blocks parts{.type = shape_of(*datatype), .count = recvcount};
    return plan_reduce_scatter(execution, sendbuf, recvbuf, parts, datatype, op);
  };
}

auto reduce_scatter_plan(const void* sendbuf, void* recvbuf, CountArray recvcounts, Datatype* datatype,
                         Op* op) {
  return [=](Execution& execution) {
    execution.describe(CollectiveCall::kReduceScatter,
                       {.op = op, .type = datatype, .count = execution.comm().size(), .counts = recvcounts});
    const Blocks parts{.type = shape_of(*datatype), .counts = recvcounts};
    return plan_reduce_scatter(execution, sendbuf, recvbuf, parts, datatype, op);
  };
}

}  // namespace

namespace api {

Code reduce_scatter_block(Process&, const void* sendbuf, void* recvbuf, Count recvcount, Datatype* datatype,
                          Op* op, Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr &&
      flag_reduce_scatter(*comm, *segment, sendbuf, recvbuf, {.count = recvcount}, *datatype, *op, &code))
    return code;
  return run_collective(*comm, reduce_scatter_block_plan(sendbuf, recvbuf, recvcount, datatype, op));
}

Code ireduce_scatter_block(Process&, const void* sendbuf, void* recvbuf, Count recvcount, Datatype* datatype,
                           Op* op, Comm* comm, Request** request) {
  return start_collective(*comm, request,
                          reduce_scatter_block_plan(sendbuf, recvbuf, recvcount, datatype, op));
}

Code reduce_scatter_block_init(Process&, const void* sendbuf, void* recvbuf, Count recvcount,
                               Datatype* datatype, Op* op, Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request,
                            reduce_scatter_block_plan(sendbuf, recvbuf, recvcount, datatype, op));
}

Code reduce_scatter(Process&, const void* sendbuf, void* recvbuf, CountArray recvcounts, Datatype* datatype,
                    Op* op, Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr &&
      flag_reduce_scatter(*comm, *segment, sendbuf, recvbuf, {.counts = recvcounts}, *datatype, *op, &code))
    return code;
  return run_collective(*comm, reduce_scatter_plan(sendbuf, recvbuf, recvcounts, datatype, op));
}

Code ireduce_scatter(Process&, const void* sendbuf, void* recvbuf, CountArray recvcounts, Datatype* datatype,
                     Op* op, Comm* comm, Request** request) {
  return start_collective(*comm, request, reduce_scatter_plan(sendbuf, recvbuf, recvcounts, datatype, op));
}

Code reduce_scatter_init(Process&, const void* sendbuf, void* recvbuf, CountArray recvcounts,
                         Datatype* datatype, Op* op, Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request, reduce_scatter_plan(sendbuf, recvbuf, recvcounts, datatype, op));
}

}  // namespace api
}  // namespace tasuki
