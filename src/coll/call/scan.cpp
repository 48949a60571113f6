// MPI_Scan and MPI_Exscan (MPI 6.11).
#include "coll/api.hpp"
#include "coll/check/arguments.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
namespace {

/// `operation`: kScan or kExscan.
auto scan_plan(Operation operation, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype,
               Op* op) {
  return [=](Execution& execution) -> Code {
    execution.describe(operation == Operation::kScan ? CollectiveCall::kScan : CollectiveCall::kExscan,
                       {.op = op, .type = datatype, .count = count});
    Comm& comm = execution.comm();
    if (const Code code = check_intracommunicator(comm); code != 0) return code;
    if (const Code code = check_reduction(comm, count, *datatype, *op); code != 0) return code;
    // The first rank gets no result of MPI_Exscan.
    const Count results = operation == Operation::kExscan && comm.rank == 0 ? 0 : count;
    const Code code = check_result(comm.process, sendbuf, recvbuf, *datatype, results);
    if (code != 0) return code;
    execution.arguments = {.send = sendbuf, .receive = recvbuf, .receive_type = datatype, .op = op};
    const Reduction data = vector_of(comm, sendbuf, count, *datatype, *op);
    plan_chosen(execution, execution.problem(operation, data), 0, {.vector = data});
    return 0;
  };
}

}  // namespace

namespace api {

Code scan(Process&, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op, Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr && flag_scan(*comm, *segment, sendbuf, recvbuf, count, *datatype, *op, true, &code))
    return code;
  return run_collective(*comm, scan_plan(Operation::kScan, sendbuf, recvbuf, count, datatype, op));
}

Code iscan(Process&, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op, Comm* comm,
           Request** request) {
  return start_collective(*comm, request, scan_plan(Operation::kScan, sendbuf, recvbuf, count, datatype, op));
}

Code scan_init(Process&, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
               Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request,
                            scan_plan(Operation::kScan, sendbuf, recvbuf, count, datatype, op));
}

Code exscan(Process&, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
            Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr && flag_scan(*comm, *segment, sendbuf, recvbuf, count, *datatype, *op, false, &code))
    return code;
  return run_collective(*comm, scan_plan(Operation::kExscan, sendbuf, recvbuf, count, datatype, op));
}

Code iexscan(Process&, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
             Comm* comm, Request** request) {
  return start_collective(*comm, request,
                          scan_plan(Operation::kExscan, sendbuf, recvbuf, count, datatype, op));
}

Code exscan_init(Process&, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
                 Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request,
                            scan_plan(Operation::kExscan, sendbuf, recvbuf, count, datatype, op));
}

}  // namespace api
}  // namespace tasuki
