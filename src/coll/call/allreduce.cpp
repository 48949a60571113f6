// MPI_Allreduce (MPI 6.9.6).
#include <bit>

#include "coll/api.hpp"
#include "coll/call/intercommunicator.hpp"
#include "coll/check/arguments.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
namespace {

auto allreduce_plan(const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kAllreduce,
                       {.op = op, .type = datatype, .count = count, .in_place = sendbuf == kInPlace});
    Comm& comm = execution.comm();
    if (comm.is_inter()) return plan_inter_allreduce(execution, sendbuf, recvbuf, count, datatype, op);
    if (const Code code = check_reduction(comm, count, *datatype, *op); code != 0) return code;
    const Code code = check_result(comm.process, sendbuf, recvbuf, *datatype, count);
    if (code != 0) return code;
    execution.arguments = {.send = sendbuf, .receive = recvbuf, .receive_type = datatype, .op = op};
    const Reduction data = vector_of(comm, sendbuf, count, *datatype, *op);
    plan_chosen(execution, execution.problem(Operation::kAllreduce, data), 0, {.vector = data});
    return 0;
  };
}

}  // namespace

namespace api {

Code allreduce(Process&, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
               Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr && flag_allreduce(*comm, *segment, sendbuf, recvbuf, count, *datatype, *op, &code))
    return code;
  return run_collective(*comm, allreduce_plan(sendbuf, recvbuf, count, datatype, op));
}

Code iallreduce(Process&, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
                Comm* comm, Request** request) {
  return start_collective(*comm, request, allreduce_plan(sendbuf, recvbuf, count, datatype, op));
}

Code allreduce_init(Process&, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
                    Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request, allreduce_plan(sendbuf, recvbuf, count, datatype, op));
}

}  // namespace api
}  // namespace tasuki
