// MPI_Scatter and MPI_Scatterv (MPI 6.6).
#include "coll/api.hpp"
#include "coll/call/intercommunicator.hpp"
#include "coll/check/arguments.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
namespace {

/// The parts of MPI_Scatter's and MPI_Scatterv's plan that are alike. `all` counts at the root only.
Code plan_scatter(Execution& execution, const void* sendbuf, Datatype* sendtype, void* recvbuf,
                  Count recvcount, Datatype* recvtype, int root, const Blocks& all, Elements* mine) {
  Process& process = execution.process();
  const Member self = execution.self();
  *mine = {.space = Space::kReceive, .element = ElementType::kReceiveType};
  mine->in_place = recvbuf == kInPlace;
  if (self.rank != root) {
    if (const Code code = check_not_in_place(process, "recvbuf", recvbuf, "at the root only"); code != 0)
      return code;
  } else {
    if (const Code code = check_not_in_place(process, "sendbuf", sendbuf, "for recvbuf only"); code != 0)
      return code;
    if (const Code code = check_blocks(process, "sendcount", all, self.size); code != 0) return code;
    execution.arguments.send = sendbuf;
    execution.arguments.send_type = sendtype;
  }
  if (!mine->in_place) {
    mine->type = shape_of(*recvtype);
    mine->count = recvcount;
    if (const Code code = check_count(process, "recvcount", recvcount, mine->type); code != 0) return code;
    execution.arguments.receive = recvbuf;
    execution.arguments.receive_type = recvtype;
  }
  return self.rank == root ? check_distinct(process, recvbuf, *mine, sendbuf, all, self.size) : 0;
}

auto scatter_plan(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                  Datatype* recvtype, int root) {
  return [=](Execution& execution) -> Code {
    const Member self = execution.self();
    const bool is_inter = execution.comm().is_inter();
    const bool is_root = is_inter ? root == kRoot : self.rank == root;
    execution.describe(CollectiveCall::kScatter, {.root = root,
                                                  .type = root == kProcNull ? nullptr
                                                          : is_root         ? sendtype
                                                                            : recvtype,
                                                  .count = is_root ? sendcount : recvcount});
    Blocks all{.space = Space::kSend, .element = ElementType::kSendType};
    if (is_root) {
      all.type = shape_of(*sendtype);
      all.count = sendcount;
    }
    if (is_inter)
      return plan_inter_scatter(execution, sendbuf, sendtype, recvbuf, recvcount, recvtype, root, all);
    Elements mine;
    const Code code =
        plan_scatter(execution, sendbuf, sendtype, recvbuf, recvcount, recvtype, root, all, &mine);
    if (code != 0) return code;
    execution.describe_ends([&](Schedule& ends) {
      if (is_root) take_own_block(ends, self, all, mine);
    });
    const Count block_bytes = is_root ? all.bytes_of(root) : mine.bytes();
    plan_chosen(execution, execution.problem(Operation::kScatter, block_bytes), root,
                {.elements = mine, .blocks = all});
    return 0;
  };
}

auto scatterv_plan(const void* sendbuf, CountArray sendcounts, CountArray displs, Datatype* sendtype,
                   void* recvbuf, Count recvcount, Datatype* recvtype, int root) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kScatterv, {.root = root});
    Blocks all{.space = Space::kSend, .element = ElementType::kSendType};
    const bool is_inter = execution.comm().is_inter();
    if (is_inter ? root == kRoot : execution.self().rank == root) {
      all.type = shape_of(*sendtype);
      all.counts = sendcounts;
      all.displacements = displs;
      all.displacement_bytes = sendtype->extent;
    }
    if (is_inter) {
      const Code code =
          plan_inter_scatter(execution, sendbuf, sendtype, recvbuf, recvcount, recvtype, root, all);
      execution.describe_ends([&](Schedule& ends) { ends = execution.schedule; });
      return code;
    }
    Elements mine;
    const Code code =
        plan_scatter(execution, sendbuf, sendtype, recvbuf, recvcount, recvtype, root, all, &mine);
    if (code != 0) return code;
    execution.describe_ends([&](Schedule& ends) { scatter_linear(ends, execution.self(), root, all, mine); });
    if (takes_short_ones_by_flags(execution, FlagOperation::kScatterv)) {
      constexpr int kLinear = algorithm_number(Operation::kScatterv, "linear");
      execution.schedule.algorithm = kLinear;
      scatter_linear(execution.schedule, execution.self(), root, all, mine);
    } else {
      plan_chosen(execution, execution.problem(Operation::kScatterv, 0), root,
                  {.elements = mine, .blocks = all});
    }
    return 0;
  };
}

}  // namespace

namespace api {

Code scatter(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
             Count recvcount, Datatype* recvtype, int root, Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr &&
      flag_scatter(*comm, *segment, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &code))
    return code;
  return run_collective(*comm,
                        scatter_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

Code iscatter(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
              Count recvcount, Datatype* recvtype, int root, Comm* comm, Request** request) {
  return start_collective(*comm, request,
                          scatter_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

Code scatter_init(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                  Count recvcount, Datatype* recvtype, int root, Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request,
                            scatter_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

Code scatterv(Process&, const void* sendbuf, CountArray sendcounts, CountArray displs, Datatype* sendtype,
              void* recvbuf, Count recvcount, Datatype* recvtype, int root, Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr && comm->process.checks == nullptr &&
      flag_scatterv(*comm, *segment, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype,
                    root, &code))
    return code;
  return run_collective(
      *comm, scatterv_plan(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root));
}

Code iscatterv(Process&, const void* sendbuf, CountArray sendcounts, CountArray displs, Datatype* sendtype,
               void* recvbuf, Count recvcount, Datatype* recvtype, int root, Comm* comm, Request** request) {
  return start_collective(
      *comm, request,
      scatterv_plan(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root));
}

Code scatterv_init(Process&, const void* sendbuf, CountArray sendcounts, CountArray displs,
                   Datatype* sendtype, void* recvbuf, Count recvcount, Datatype* recvtype, int root,
                   Comm* comm, Info*, Request** request) {
  return prepare_collective(
      *comm, request,
      scatterv_plan(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root));
}

}  // namespace api
}  // namespace tasuki
