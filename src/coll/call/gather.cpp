// MPI_Gather and MPI_Gatherv (MPI 6.5).
#include <vector>

#include "coll/api.hpp"
#include "coll/call/intercommunicator.hpp"
#include "coll/check/arguments.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
namespace {

/// The parts of MPI_Gather's and MPI_Gatherv's plan that are alike. `all` counts at the root only.
Code plan_gather(Execution& execution, const void* sendbuf, Count sendcount, Datatype* sendtype,
                 void* recvbuf, Datatype* recvtype, int root, const Blocks& all, Elements* mine) {
  Process& process = execution.process();
  const Member self = execution.self();
  *mine = {.space = Space::kSend, .element = ElementType::kSendType};
  mine->in_place = sendbuf == kInPlace;
  if (self.rank != root) {
    if (const Code code = check_not_in_place(process, "sendbuf", sendbuf, "at the root only"); code != 0)
      return code;
  } else {
    if (const Code code = check_not_in_place(process, "recvbuf", recvbuf, "for sendbuf only"); code != 0)
      return code;
    if (const Code code = check_blocks(process, "recvcount", all, self.size); code != 0) return code;
    execution.arguments.receive = recvbuf;
    execution.arguments.receive_type = recvtype;
  }
  if (!mine->in_place) {
    mine->type = shape_of(*sendtype);
    mine->count = sendcount;
    execution.arguments.send = sendbuf;
    execution.arguments.send_type = sendtype;
    if (const Code code = check_count(process, "sendcount", sendcount, mine->type); code != 0) return code;
  }
  return self.rank == root ? check_distinct(process, sendbuf, *mine, recvbuf, all, self.size) : 0;
}

auto gather_plan(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                 Datatype* recvtype, int root) {
  return [=](Execution& execution) -> Code {
    const Member self = execution.self();
    const bool is_inter = execution.comm().is_inter();
    const bool is_root = is_inter ? root == kRoot : self.rank == root;
    execution.describe(CollectiveCall::kGather, {.root = root,
                                                 .type = root == kProcNull ? nullptr
                                                         : is_root         ? recvtype
                                                                           : sendtype,
                                                 .count = is_root ? recvcount : sendcount});
    Blocks all;
    if (is_root) all = {.type = shape_of(*recvtype), .count = recvcount};
    if (is_inter)
      return plan_inter_gather(execution, sendbuf, sendcount, sendtype, recvbuf, recvtype, root, all);
    Elements mine;
    const Code code =
        plan_gather(execution, sendbuf, sendcount, sendtype, recvbuf, recvtype, root, all, &mine);
    if (code != 0) return code;
    execution.describe_ends([&](Schedule& ends) {
      if (is_root) place_own_block(ends, self, mine, all);
    });
    const Count block_bytes = is_root ? all.bytes_of(root) : mine.bytes();
    plan_chosen(execution, execution.problem(Operation::kGather, block_bytes), root,
                {.elements = mine, .blocks = all});
    return 0;
  };
}

/// At the root of a gather whose short blocks are there: receives the others.
auto gather_from_plan(void* recvbuf, CountArray recvcounts, CountArray displs, Datatype* recvtype,
                      const std::vector<int>& senders) {
  return [=, &senders](Execution& execution) -> Code {
    const Blocks all{.type = shape_of(*recvtype),
                     .counts = recvcounts,
                     .displacements = displs,
                     .displacement_bytes = recvtype->extent};
    Schedule& schedule = execution.schedule;
    constexpr int kLinear = algorithm_number(Operation::kGatherv, "linear");
    schedule.algorithm = kLinear;
    execution.arguments.receive = recvbuf;
    execution.arguments.receive_type = recvtype;
    for (const int sender : senders)
      schedule.receive(all.place_of(sender), all.count_of(sender), all.element, sender);
    schedule.end_round();
    return 0;
  };
}

auto gatherv_plan(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                  CountArray recvcounts, CountArray displs, Datatype* recvtype, int root) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kGatherv, {.root = root});
    const bool is_inter = execution.comm().is_inter();
    Blocks all;
    if (is_inter ? root == kRoot : execution.self().rank == root) {
      all = {.type = shape_of(*recvtype),
             .counts = recvcounts,
             .displacements = displs,
             .displacement_bytes = recvtype->extent};
    }
    if (is_inter) {
      const Code code =
          plan_inter_gather(execution, sendbuf, sendcount, sendtype, recvbuf, recvtype, root, all);
      execution.describe_ends([&](Schedule& ends) { ends = execution.schedule; });
      return code;
    }
    Elements mine;
    const Code code =
        plan_gather(execution, sendbuf, sendcount, sendtype, recvbuf, recvtype, root, all, &mine);
    if (code != 0) return code;
    execution.describe_ends([&](Schedule& ends) { gather_linear(ends, execution.self(), root, mine, all); });
    if (takes_short_ones_by_flags(execution, FlagOperation::kGatherv)) {
      constexpr int kLinear = algorithm_number(Operation::kGatherv, "linear");
      execution.schedule.algorithm = kLinear;
      gather_linear(execution.schedule, execution.self(), root, mine, all);
    } else {
      plan_chosen(execution, execution.problem(Operation::kGatherv, 0), root,
                  {.elements = mine, .blocks = all});
    }
    return 0;
  };
}

}  // namespace

namespace api {

Code gather(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
            Count recvcount, Datatype* recvtype, int root, Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr &&
      flag_gather(*comm, *segment, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &code))
    return code;
  return run_collective(*comm, gather_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

Code igather(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
             Count recvcount, Datatype* recvtype, int root, Comm* comm, Request** request) {
  return start_collective(*comm, request,
                          gather_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

Code gather_init(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                 Count recvcount, Datatype* recvtype, int root, Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request,
                            gather_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

Code gatherv(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
             CountArray recvcounts, CountArray displs, Datatype* recvtype, int root, Comm* comm) {
  Code code = 0;
  std::vector<int> senders;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr && comm->process.checks == nullptr &&
      flag_gatherv(*comm, *segment, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root,
                   &senders, &code)) {
    if (senders.empty()) return code;
    const Code of_senders =
        run_collective(*comm, gather_from_plan(recvbuf, recvcounts, displs, recvtype, senders));
    return code != 0 ? code : of_senders;
  }
  return run_collective(
      *comm, gatherv_plan(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root));
}

Code igatherv(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
              CountArray recvcounts, CountArray displs, Datatype* recvtype, int root, Comm* comm,
              Request** request) {
  return start_collective(
      *comm, request,
      gatherv_plan(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root));
}

Code gatherv_init(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                  CountArray recvcounts, CountArray displs, Datatype* recvtype, int root, Comm* comm, Info*,
                  Request** request) {
  return prepare_collective(
      *comm, request,
      gatherv_plan(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root));
}

}  // namespace api
}  // namespace tasuki
