// The neighbourhood collectives (MPI 8.6 to 8.8): MPI_Neighbor_allgather, _allgatherv, _alltoall, _alltoallv
// and _alltoallw, blocking, nonblocking and persistent. A rank exchanges blocks with its neighbours in the
// communicator's topology; of the neighbours of an allgather all get the same block.
#include <algorithm>

#include "base/user_memory.hpp"
#include "coll/algorithm/algorithms.hpp"
#include "coll/api.hpp"
#include "coll/check/arguments.hpp"
#include "coll/run/execution.hpp"
#include "object/topology.hpp"

namespace tasuki {
namespace {

constexpr const char* kNowhere = "in no neighborhood collective";

/// The schedule and the requests of a call; few neighbors take too little to ask for it.
Code check_memory(Process& process, const Topology& topology) {
  constexpr std::size_t kFew = 4096, kNeighborBytes = 1024;
  const std::size_t neighbors = topology.sources.size() + topology.destinations.size();
  if (neighbors <= kFew || has_memory_for(neighbors, kNeighborBytes)) return kSuccess;
  return fail_memory(process, "the number of neighbors", static_cast<Count>(neighbors));
}

/// Checks the call, and writes its schedule.
Code exchange(Execution& execution, const void* sendbuf, const Blocks& out, void* recvbuf, const Blocks& in) {
  Process& process = execution.process();
  Comm& comm = execution.comm();
  if (const Code code = check_neighborhood(comm); code != 0) return code;
  if (const Code code = check_not_in_place(process, "sendbuf", sendbuf, kNowhere); code != 0) return code;
  if (const Code code = check_not_in_place(process, "recvbuf", recvbuf, kNowhere); code != 0) return code;
  const Topology& topology = *comm.topology;
  if (const Code code = check_memory(process, topology); code != 0) return code;
  const int out_blocks = out.one_for_all ? std::min(1, topology.outdegree()) : topology.outdegree();
  if (const Code code = check_blocks(process, "sendcount", out, out_blocks); code != 0) return code;
  if (const Code code = check_blocks(process, "recvcount", in, topology.indegree()); code != 0) return code;
  if (const Code code = check_distinct(process, sendbuf, out, out_blocks, recvbuf, in, topology.indegree());
      code != 0)
    return code;
  const Neighborhood neighbors{.sources = topology.sources,
                               .destinations = topology.destinations,
                               .is_grid = topology.kind == TopologyKind::kCart};
  neighbor_direct(execution.schedule, comm.rank, neighbors, out, in);
  execution.describe_ends([&](Schedule& ends) { ends = execution.schedule; });
  return 0;
}

Blocks send_blocks(const Datatype& type, Count count) {
  return {.space = Space::kSend, .element = ElementType::kSendType, .type = shape_of(type), .count = count};
}

Blocks receive_blocks(const Datatype& type, CountArray counts, CountArray displacements) {
  return {.type = shape_of(type),
          .counts = counts,
          .displacements = displacements,
          .displacement_bytes = type.extent};
}

auto neighbor_allgather_plan(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                             Count recvcount, Datatype* recvtype) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kNeighborAllgather);
    execution.arguments = {sendbuf, recvbuf, sendtype, recvtype};
    Blocks out = send_blocks(*sendtype, sendcount);
    out.one_for_all = true;
    return exchange(execution, sendbuf, out, recvbuf, {.type = shape_of(*recvtype), .count = recvcount});
  };
}

auto neighbor_allgatherv_plan(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                              CountArray recvcounts, CountArray displs, Datatype* recvtype) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kNeighborAllgatherv);
    execution.arguments = {sendbuf, recvbuf, sendtype, recvtype};
    Blocks out = send_blocks(*sendtype, sendcount);
    out.one_for_all = true;
    return exchange(execution, sendbuf, out, recvbuf, receive_blocks(*recvtype, recvcounts, displs));
  };
}

auto neighbor_alltoall_plan(const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                            Count recvcount, Datatype* recvtype) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kNeighborAlltoall);
    execution.arguments = {sendbuf, recvbuf, sendtype, recvtype};
    return exchange(execution, sendbuf, send_blocks(*sendtype, sendcount), recvbuf,
                    {.type = shape_of(*recvtype), .count = recvcount});
  };
}

auto neighbor_alltoallv_plan(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                             Datatype* sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                             Datatype* recvtype) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kNeighborAlltoallv);
    execution.arguments = {sendbuf, recvbuf, sendtype, recvtype};
    Blocks out = receive_blocks(*sendtype, sendcounts, sdispls);
    out.space = Space::kSend;
    out.element = ElementType::kSendType;
    return exchange(execution, sendbuf, out, recvbuf, receive_blocks(*recvtype, recvcounts, rdispls));
  };
}

auto neighbor_alltoallw_plan(const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                             Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts,
                             CountArray rdispls, Datatype* const* recvtypes) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kNeighborAlltoallw);
    if (const Code code = check_neighborhood(execution.comm()); code != 0) return code;
    const Topology& topology = *execution.comm().topology;
    if (const Code code = check_memory(execution.process(), topology); code != 0) return code;
    const std::size_t out_blocks = topology.destinations.size();
    execution.take_types(sendtypes, out_blocks, recvtypes, topology.sources.size());
    execution.arguments.send = sendbuf;
    execution.arguments.receive = recvbuf;
    const Count* sizes = execution.type_sizes.data();
    const Count* lower_bounds = execution.type_lower_bounds.data();
    const Blocks out{.space = Space::kSend,
                     .element = ElementType::kSendTypeOfPeer,
                     .counts = sendcounts,
                     .displacements = sdispls,
                     .displacement_bytes = 1,
                     .sizes = CountArray(sizes),
                     .lower_bounds = CountArray(lower_bounds)};
    const Blocks in{.element = ElementType::kReceiveTypeOfPeer,
                    .counts = recvcounts,
                    .displacements = rdispls,
                    .displacement_bytes = 1,
                    .sizes = CountArray(sizes + out_blocks),
                    .lower_bounds = CountArray(lower_bounds + out_blocks)};
    return exchange(execution, sendbuf, out, recvbuf, in);
  };
}

}  // namespace

namespace api {

Code neighbor_allgather(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                        Count recvcount, Datatype* recvtype, Comm* comm) {
  return run_collective(*comm,
                        neighbor_allgather_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Code ineighbor_allgather(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                         Count recvcount, Datatype* recvtype, Comm* comm, Request** request) {
  return start_collective(
      *comm, request, neighbor_allgather_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Code neighbor_allgather_init(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype,
                             void* recvbuf, Count recvcount, Datatype* recvtype, Comm* comm, Info*,
                             Request** request) {
  return prepare_collective(
      *comm, request, neighbor_allgather_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Code neighbor_allgatherv(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                         CountArray recvcounts, CountArray displs, Datatype* recvtype, Comm* comm) {
  return run_collective(
      *comm, neighbor_allgatherv_plan(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

Code ineighbor_allgatherv(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                          CountArray recvcounts, CountArray displs, Datatype* recvtype, Comm* comm,
                          Request** request) {
  return start_collective(
      *comm, request,
      neighbor_allgatherv_plan(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

Code neighbor_allgatherv_init(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype,
                              void* recvbuf, CountArray recvcounts, CountArray displs, Datatype* recvtype,
                              Comm* comm, Info*, Request** request) {
  return prepare_collective(
      *comm, request,
      neighbor_allgatherv_plan(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

Code neighbor_alltoall(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                       Count recvcount, Datatype* recvtype, Comm* comm) {
  return run_collective(*comm,
                        neighbor_alltoall_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Code ineighbor_alltoall(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                        Count recvcount, Datatype* recvtype, Comm* comm, Request** request) {
  return start_collective(*comm, request,
                          neighbor_alltoall_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Code neighbor_alltoall_init(Process&, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                            Count recvcount, Datatype* recvtype, Comm* comm, Info*, Request** request) {
  return prepare_collective(
      *comm, request, neighbor_alltoall_plan(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

Code neighbor_alltoallv(Process&, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                        Datatype* sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                        Datatype* recvtype, Comm* comm) {
  return run_collective(*comm, neighbor_alltoallv_plan(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                       recvcounts, rdispls, recvtype));
}

Code ineighbor_alltoallv(Process&, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                         Datatype* sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                         Datatype* recvtype, Comm* comm, Request** request) {
  return start_collective(*comm, request,
                          neighbor_alltoallv_plan(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                                  rdispls, recvtype));
}

Code neighbor_alltoallv_init(Process&, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                             Datatype* sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                             Datatype* recvtype, Comm* comm, Info*, Request** request) {
  return prepare_collective(*comm, request,
                            neighbor_alltoallv_plan(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                    recvcounts, rdispls, recvtype));
}

Code neighbor_alltoallw(Process&, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                        Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                        Datatype* const* recvtypes, Comm* comm) {
  return run_collective(*comm, neighbor_alltoallw_plan(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                                       recvcounts, rdispls, recvtypes));
}

Code ineighbor_alltoallw(Process&, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                         Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                         Datatype* const* recvtypes, Comm* comm, Request** request) {
  return start_collective(*comm, request,
                          neighbor_alltoallw_plan(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                                  recvcounts, rdispls, recvtypes));
}

Code neighbor_alltoallw_init(Process&, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                             Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts,
                             CountArray rdispls, Datatype* const* recvtypes, Comm* comm, Info*,
                             Request** request) {
  return prepare_collective(*comm, request,
                            neighbor_alltoallw_plan(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                                    recvcounts, rdispls, recvtypes));
}

}  // namespace api
}  // namespace tasuki
