// MPI_Bcast (MPI 6.4).
#include "coll/api.hpp"
#include "coll/call/intercommunicator.hpp"
#include "coll/check/arguments.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
namespace {

auto bcast_plan(void* buffer, Count count, Datatype* datatype, int root) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kBcast,
                       {.root = root, .type = root == kProcNull ? nullptr : datatype, .count = count});
    Process& process = execution.process();
    if (execution.comm().is_inter()) return plan_inter_bcast(execution, buffer, count, datatype, root);
    if (const Code code = check_not_in_place(process, "buffer", buffer, "nowhere in MPI_Bcast"); code != 0)
      return code;
    const Elements data{.type = shape_of(*datatype), .count = count};
    if (const Code code = check_count(process, "count", count, data.type); code != 0) return code;
    execution.arguments = {.receive = buffer, .receive_type = datatype};
    plan_chosen(execution, execution.problem(Operation::kBcast, data.bytes()), root, {.elements = data});
    return 0;
  };
}

}  // namespace

namespace api {

Code bcast(Process&, void* buffer, Count count, Datatype* datatype, int root, Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr && flag_bcast(*comm, *segment, buffer, count, *datatype, root, &code))
    return code;
  return run_collective(*comm, bcast_plan(buffer, count, datatype, root));
}

Code ibcast(Process&, void* buffer, Count count, Datatype* datatype, int root, Comm* comm,
            Request** request) {
  return start_collective(*comm, request, bcast_plan(buffer, count, datatype, root));
}

Code bcast_init(Process&, void* buffer, Count count, Datatype* datatype, int root, Comm* comm, Info*,
                Request** request) {
  return prepare_collective(*comm, request, bcast_plan(buffer, count, datatype, root));
}

}  // namespace api
}  // namespace tasuki
