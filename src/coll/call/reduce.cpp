// MPI_Reduce (MPI 6.9.1).
#include "coll/api.hpp"
#include "coll/call/intercommunicator.hpp"
#include "coll/check/arguments.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
namespace {

auto reduce_plan(const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op, int root) {
  return [=](Execution& execution) -> Code {
    if (root == kProcNull) {
      execution.describe(CollectiveCall::kReduce, {.root = root});
    } else {
      execution.describe(CollectiveCall::kReduce, {.root = root, .op = op, .type = datatype, .count = count});
    }
    Process& process = execution.process();
    const Member self = execution.self();
    if (execution.comm().is_inter())
      return plan_inter_reduce(execution, sendbuf, recvbuf, count, datatype, op, root);
    const bool is_root = self.rank == root;
    if (const Code code = check_reduction(execution.comm(), count, *datatype, *op); code != 0) return code;
    const Code code = is_root ? check_result(process, sendbuf, recvbuf, *datatype, count)
                              : check_not_in_place(process, "sendbuf", sendbuf, "at the root only");
    if (code != 0) return code;
    execution.arguments = {.send = sendbuf, .receive = recvbuf, .receive_type = datatype, .op = op};
    const Reduction data = vector_of(execution.comm(), sendbuf, count, *datatype, *op);
    plan_chosen(execution, execution.problem(Operation::kReduce, data), root, {.vector = data});
    return 0;
  };
}

}  // namespace

namespace api {

Code reduce(Process&, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op, int root,
            Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr &&
      flag_reduce(*comm, *segment, sendbuf, recvbuf, count, *datatype, *op, root, &code))
    return code;
  return run_collective(*comm, reduce_plan(sendbuf, recvbuf, count, datatype, op, root));
}

Code ireduce(Process&, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op, int root,
             Comm* comm, Request** request) {
  return start_collective(*comm, request, reduce_plan(sendbuf, recvbuf, count, datatype, op, root));
}

Code reduce_init(Process&, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
                 int root, Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request, reduce_plan(sendbuf, recvbuf, count, datatype, op, root));
}

}  // namespace api
}  // namespace tasuki
