// MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw (MPI 6.8); their algorithms are in alltoall.cpp.
#include <algorithm>

#include "coll/api.hpp"
#include "coll/call/intercommunicator.hpp"
#include "coll/check/arguments.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/flag_collectives.hpp"

namespace tasuki {
namespace {

Code check_alltoall(Execution& execution, const void* sendbuf, const Blocks& out, void* recvbuf,
                    const Blocks& in) {
  Process& process = execution.process();
  const int size = execution.comm().peers().size();
  if (execution.comm().is_inter()) {
    if (const Code code = check_not_in_place(process, "sendbuf", sendbuf, kNotOnInter); code != 0)
      return code;
  }
  if (const Code code = check_not_in_place(process, "recvbuf", recvbuf, "for sendbuf only"); code != 0)
    return code;
  if (const Code code = check_blocks(process, "recvcount", in, size); code != 0) return code;
  if (!out.in_place) {
    if (const Code code = check_blocks(process, "sendcount", out, size); code != 0) return code;
  }
  return check_distinct(process, sendbuf, out, recvbuf, in, size);
}

/// Bytes of a block, as far as all ranks know: of unequal blocks only two ranks do, where each expects what
/// the other sends.
Count known_bytes(Operation operation, Member self, const Blocks& out, const Blocks& in) {
  if (operation == Operation::kAlltoall) return in.bytes_of(0);
  if (self.size != 2) return 0;
  const int other = 1 - self.rank;
  return out.in_place ? in.bytes_of(other) : std::max(out.bytes_of(other), in.bytes_of(other));
}

/// `operation`: with blocks that are equal, or not.
void plan_exchange(Execution& execution, Operation operation, const Blocks& out, const Blocks& in) {
  const Member self = execution.self();
  const bool equal = operation == Operation::kAlltoall;
  const bool is_inter = execution.comm().is_inter();
  const int size = execution.comm().peers().size();
  execution.describe_ends([&](Schedule& ends) {
    if (!equal || is_inter) {
      write_ends(ends, out, in, size, is_inter ? -1 : self.rank);
    } else if (!out.in_place) {  // what all ranks expect is the same, and has been compared
      ends.copy(out.place_of(0), out.count, out.element, in.place_of(0), in.count, in.element);
    }
  });
  if (is_inter) return inter_exchange(execution.schedule, self, out, in, size);
  Problem problem = execution.problem(operation, known_bytes(operation, self, out, in));
  problem.in_place = out.in_place;
  plan_chosen(execution, problem, 0, {.out = out, .blocks = in});
}

auto alltoall_plan(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf, Count recvcount,
                   Datatype* recvtype) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kAlltoall, {.type = execution.comm().is_inter() ? nullptr : recvtype,
                                                   .count = recvcount,
                                                   .in_place = sendbuf == kInPlace});
    const Blocks in{.type = shape_of(*recvtype), .count = recvcount};
    Blocks out = in;
    execution.arguments = {.receive = recvbuf, .receive_type = recvtype};
    if (sendbuf == kInPlace) {
      out.in_place = true;
    } else {
      out = {.space = Space::kSend, .element = ElementType::kSendType};
      out.type = shape_of(*sendtype);
      out.count = sendcount;
      execution.arguments.send = sendbuf;
      execution.arguments.send_type = sendtype;
    }
    if (const Code code = check_alltoall(execution, sendbuf, out, recvbuf, in); code != 0) return code;
    plan_exchange(execution, Operation::kAlltoall, out, in);
    return 0;
  };
}

auto alltoallv_plan(const void* sendbuf, CountArray sendcounts, CountArray sdispls, Datatype* sendtype,
                    void* recvbuf, CountArray recvcounts, CountArray rdispls, Datatype* recvtype) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kAlltoallv, {.in_place = sendbuf == kInPlace});
    const Blocks in{.type = shape_of(*recvtype),
                    .counts = recvcounts,
                    .displacements = rdispls,
                    .displacement_bytes = recvtype->extent};
    Blocks out{.space = Space::kSend, .element = ElementType::kSendType, .in_place = sendbuf == kInPlace};
    execution.arguments = {.receive = recvbuf, .receive_type = recvtype};
    if (!out.in_place) {
      out.type = shape_of(*sendtype);
      out.counts = sendcounts;
      out.displacements = sdispls;
      out.displacement_bytes = sendtype->extent;
      execution.arguments.send = sendbuf;
      execution.arguments.send_type = sendtype;
    }
    const Code code = check_alltoall(execution, sendbuf, out, recvbuf, in);
    if (code == 0) plan_exchange(execution, Operation::kAlltoallv, out, in);
    return code;
  };
}

auto alltoallw_plan(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                    Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                    Datatype* const* recvtypes) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kAlltoallw, {.in_place = sendbuf == kInPlace});
    const auto size = static_cast<std::size_t>(execution.comm().peers().size());
    const bool in_place = sendbuf == kInPlace;
    execution.take_types(in_place ? nullptr : sendtypes, size, recvtypes, size);
    execution.arguments.receive = recvbuf;
    execution.arguments.send = sendbuf;
    const Count* sizes = execution.type_sizes.data();
    const Count* lower_bounds = execution.type_lower_bounds.data();
    const std::size_t first_in = in_place ? 0 : size;
    const Blocks in{.element = ElementType::kReceiveTypeOfPeer,
                    .counts = recvcounts,
                    .displacements = rdispls,
                    .displacement_bytes = 1,
                    .sizes = CountArray(sizes + first_in),
                    .lower_bounds = CountArray(lower_bounds + first_in)};
    Blocks out{.space = Space::kSend,
               .element = ElementType::kSendTypeOfPeer,
               .displacement_bytes = 1,
               .in_place = in_place};
    if (!in_place) {
      out.counts = sendcounts;
      out.displacements = sdispls;
      out.sizes = CountArray(sizes);
      out.lower_bounds = CountArray(lower_bounds);
    }
    const Code code = check_alltoall(execution, sendbuf, out, recvbuf, in);
    if (code == 0) plan_exchange(execution, Operation::kAlltoallv, out, in);
    return code;
  };
}

}  // namespace

namespace api {

Code alltoall(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
              Count recvcount, Datatype* recvtype, Comm* comm) {
  Code code = 0;
  if (NodeSegment* segment = node_segment_of(*comm);
      segment != nullptr &&
      flag_alltoall(*comm, *segment, sendbuf, sendcount, sendtype, recvbuf, recvcount, *recvtype, &code))
    return code;
  return run_collective(*comm, alltoall_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Code ialltoall(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
               Count recvcount, Datatype* recvtype, Comm* comm, Request** request) {
  return start_collective(*comm, request,
                          alltoall_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Code alltoall_init(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                   Count recvcount, Datatype* recvtype, Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request,
                            alltoall_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Code alltoallv(Process&, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Datatype* sendtype,
               void* recvbuf, CountArray recvcounts, CountArray rdispls, Datatype* recvtype, Comm* comm) {
  return run_collective(
      *comm, alltoallv_plan(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

Code ialltoallv(Process&, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Datatype* sendtype,
                void* recvbuf, CountArray recvcounts, CountArray rdispls, Datatype* recvtype, Comm* comm,
                Request** request) {
  return start_collective(
      *comm, request,
      alltoallv_plan(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

Code alltoallv_init(Process&, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                    Datatype* sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                    Datatype* recvtype, Comm* comm, Info*, Request** request) {
  return prepare_collective(
      *comm, request,
      alltoallv_plan(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

Code alltoallw(Process&, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
               Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
               Datatype* const* recvtypes, Comm* comm) {
  return run_collective(*comm, alltoallw_plan(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                              rdispls, recvtypes));
}

Code ialltoallw(Process&, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                Datatype* const* recvtypes, Comm* comm, Request** request) {
  return start_collective(
      *comm, request,
      alltoallw_plan(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

Code alltoallw_init(Process&, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                    Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                    Datatype* const* recvtypes, Comm* comm, Info*, Request** request) {
  return prepare_collective(
      *comm, request,
      alltoallw_plan(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

}  // namespace api
}  // namespace tasuki
