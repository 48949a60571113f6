// MPI_Allgather and MPI_Allgatherv (MPI 6.7).
#include "coll/api.hpp"
#include "coll/call/intercommunicator.hpp"
#include "coll/check/arguments.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
void plan_chosen_allgather(Execution& execution, const Elements& mine, const Blocks& all) {
  Count total_bytes = 0;
  for (int rank = 0; rank < execution.self().size; ++rank) total_bytes += all.bytes_of(rank);
  Problem problem = execution.problem(Operation::kAllgather, total_bytes);
  problem.uniform = all.uniform();
  plan_chosen(execution, problem, 0, {.elements = mine, .blocks = all});
}

namespace {

Code plan_allgather(Execution& execution, const void* sendbuf, Count sendcount, Datatype* sendtype,
                    void* recvbuf, Datatype* recvtype, const Blocks& all) {
  Process& process = execution.process();
  const int size = execution.self().size;
  if (execution.comm().is_inter())
    return plan_inter_allgather(execution, sendbuf, sendcount, sendtype, recvbuf, recvtype, all);
  if (const Code code = check_not_in_place(process, "recvbuf", recvbuf, "for sendbuf only"); code != 0)
    return code;
  if (const Code code = check_blocks(process, "recvcount", all, size); code != 0) return code;
  execution.arguments = {.receive = recvbuf, .receive_type = recvtype};
  Elements mine{.space = Space::kSend, .element = ElementType::kSendType, .in_place = sendbuf == kInPlace};
  if (!mine.in_place) {
    mine.type = shape_of(*sendtype);
    mine.count = sendcount;
    execution.arguments.send = sendbuf;
    execution.arguments.send_type = sendtype;
  }
  if (const Code code = check_count(process, "sendcount", mine.count, mine.type); code != 0) return code;
  if (const Code code = check_distinct(process, sendbuf, mine, recvbuf, all, size); code != 0) return code;
  execution.describe_ends([&](Schedule& ends) { place_own_block(ends, execution.self(), mine, all); });
  plan_chosen_allgather(execution, mine, all);
  return 0;
}

auto allgather_plan(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                    Datatype* recvtype) {
  return [=](Execution& execution) {
    execution.describe(CollectiveCall::kAllgather, {.type = execution.comm().is_inter() ? nullptr : recvtype,
                                                    .count = recvcount,
                                                    .in_place = sendbuf == kInPlace});
    const Blocks all{.type = shape_of(*recvtype), .count = recvcount};
    return plan_allgather(execution, sendbuf, sendcount, sendtype, recvbuf, recvtype, all);
  };
}

auto allgatherv_plan(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                     CountArray recvcounts, CountArray displs, Datatype* recvtype) {
  return [=](Execution& execution) {
    execution.describe(CollectiveCall::kAllgatherv, {.type = execution.comm().is_inter() ? nullptr : recvtype,
                                                     .count = execution.comm().size(),
                                                     .counts = recvcounts,
                                                     .in_place = sendbuf == kInPlace});
    const Blocks all{.type = shape_of(*recvtype),
                     .counts = recvcounts,
                     .displacements = displs,
                     .displacement_bytes = recvtype->extent};
    return plan_allgather(execution, sendbuf, sendcount, sendtype, recvbuf, recvtype, all);
  };
}

}  // namespace

namespace api {

Code allgather(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
               Count recvcount, Datatype* recvtype, Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr &&
      flag_allgather(*comm, *segment, sendbuf, sendcount, sendtype, recvbuf, recvcount, *recvtype, &code))
    return code;
  return run_collective(*comm, allgather_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Code iallgather(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                Count recvcount, Datatype* recvtype, Comm* comm, Request** request) {
  return start_collective(*comm, request,
                          allgather_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Code allgather_init(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                    Count recvcount, Datatype* recvtype, Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request,
                            allgather_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Code allgatherv(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                CountArray recvcounts, CountArray displs, Datatype* recvtype, Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr && comm->process.checks == nullptr &&
      flag_allgatherv(*comm, *segment, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, *recvtype,
                      &code))
    return code;
  return run_collective(*comm,
                        allgatherv_plan(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

Code iallgatherv(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                 CountArray recvcounts, CountArray displs, Datatype* recvtype, Comm* comm,
                 Request** request) {
  return start_collective(
      *comm, request, allgatherv_plan(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

Code allgatherv_init(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                     CountArray recvcounts, CountArray displs, Datatype* recvtype, Comm* comm, Info*,
                     Request** request) {
  return prepare_collective(
      *comm, request, allgatherv_plan(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

}  // namespace api
}  // namespace tasuki
