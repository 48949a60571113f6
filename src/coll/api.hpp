// The collectives of MPI chapter 6: blocking, nonblocking (6.12) and persistent (6.13), on
// intracommunicators, and those of neighbourhoods. Signatures follow bindgen/README.md. What the binding
// checks is not checked again; each operation's file checks the rest.
//
// Arguments that MPI calls not significant at a rank (the receive arguments of MPI_Gather away from the root,
// the send arguments beside MPI_IN_PLACE) are never looked at and may be null.
#pragma once

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "p2p/request.hpp"
#include "reduction/op.hpp"

namespace tasuki::api {

Code barrier(Process& process, Comm* comm);
Code ibarrier(Process& process, Comm* comm, Request** request);
Code barrier_init(Process& process, Comm* comm, Info* info, Request** request);

Code bcast(Process& process, void* buffer, Count count, Datatype* datatype, int root, Comm* comm);
Code ibcast(Process& process, void* buffer, Count count, Datatype* datatype, int root, Comm* comm,
            Request** request);
Code bcast_init(Process& process, void* buffer, Count count, Datatype* datatype, int root, Comm* comm,
                Info* info, Request** request);

Code allgather(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
               Count recvcount, Datatype* recvtype, Comm* comm);
Code iallgather(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                Count recvcount, Datatype* recvtype, Comm* comm, Request** request);
Code allgather_init(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                    Count recvcount, Datatype* recvtype, Comm* comm, Info* info, Request** request);
Code allgatherv(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                CountArray recvcounts, CountArray displs, Datatype* recvtype, Comm* comm);
Code iallgatherv(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                 CountArray recvcounts, CountArray displs, Datatype* recvtype, Comm* comm, Request** request);
Code allgatherv_init(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype,
                     void* recvbuf, CountArray recvcounts, CountArray displs, Datatype* recvtype, Comm* comm,
                     Info* info, Request** request);

Code gather(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
            Count recvcount, Datatype* recvtype, int root, Comm* comm);
Code igather(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
             Count recvcount, Datatype* recvtype, int root, Comm* comm, Request** request);
Code gather_init(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                 Count recvcount, Datatype* recvtype, int root, Comm* comm, Info* info, Request** request);

Code gatherv(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
             CountArray recvcounts, CountArray displs, Datatype* recvtype, int root, Comm* comm);
Code igatherv(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
              CountArray recvcounts, CountArray displs, Datatype* recvtype, int root, Comm* comm,
              Request** request);
Code gatherv_init(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                  CountArray recvcounts, CountArray displs, Datatype* recvtype, int root, Comm* comm,
                  Info* info, Request** request);

Code scatter(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
             Count recvcount, Datatype* recvtype, int root, Comm* comm);
Code iscatter(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
              Count recvcount, Datatype* recvtype, int root, Comm* comm, Request** request);
Code scatter_init(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                  Count recvcount, Datatype* recvtype, int root, Comm* comm, Info* info, Request** request);

Code scatterv(Process& process, const void* sendbuf, CountArray sendcounts, CountArray displs,
              Datatype* sendtype, void* recvbuf, Count recvcount, Datatype* recvtype, int root, Comm* comm);
Code iscatterv(Process& process, const void* sendbuf, CountArray sendcounts, CountArray displs,
               Datatype* sendtype, void* recvbuf, Count recvcount, Datatype* recvtype, int root, Comm* comm,
               Request** request);
Code scatterv_init(Process& process, const void* sendbuf, CountArray sendcounts, CountArray displs,
                   Datatype* sendtype, void* recvbuf, Count recvcount, Datatype* recvtype, int root,
                   Comm* comm, Info* info, Request** request);

Code alltoall(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
              Count recvcount, Datatype* recvtype, Comm* comm);
Code ialltoall(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
               Count recvcount, Datatype* recvtype, Comm* comm, Request** request);
Code alltoall_init(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, void* recvbuf,
                   Count recvcount, Datatype* recvtype, Comm* comm, Info* info, Request** request);

Code alltoallv(Process& process, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
               Datatype* sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
               Datatype* recvtype, Comm* comm);
Code ialltoallv(Process& process, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                Datatype* sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                Datatype* recvtype, Comm* comm, Request** request);
Code alltoallv_init(Process& process, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                    Datatype* sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                    Datatype* recvtype, Comm* comm, Info* info, Request** request);

Code alltoallw(Process& process, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
               Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
               Datatype* const* recvtypes, Comm* comm);
Code ialltoallw(Process& process, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                Datatype* const* recvtypes, Comm* comm, Request** request);
Code alltoallw_init(Process& process, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                    Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                    Datatype* const* recvtypes, Comm* comm, Info* info, Request** request);

Code reduce(Process& process, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
            int root, Comm* comm);
Code ireduce(Process& process, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
             int root, Comm* comm, Request** request);
Code reduce_init(Process& process, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype,
                 Op* op, int root, Comm* comm, Info* info, Request** request);

Code allreduce(Process& process, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
               Comm* comm);
Code iallreduce(Process& process, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
                Comm* comm, Request** request);
Code allreduce_init(Process& process, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype,
                    Op* op, Comm* comm, Info* info, Request** request);

Code reduce_scatter_block(Process& process, const void* sendbuf, void* recvbuf, Count recvcount,
                          Datatype* datatype, Op* op, Comm* comm);
Code ireduce_scatter_block(Process& process, const void* sendbuf, void* recvbuf, Count recvcount,
                           Datatype* datatype, Op* op, Comm* comm, Request** request);
Code reduce_scatter_block_init(Process& process, const void* sendbuf, void* recvbuf, Count recvcount,
                               Datatype* datatype, Op* op, Comm* comm, Info* info, Request** request);

Code reduce_scatter(Process& process, const void* sendbuf, void* recvbuf, CountArray recvcounts,
                    Datatype* datatype, Op* op, Comm* comm);
Code ireduce_scatter(Process& process, const void* sendbuf, void* recvbuf, CountArray recvcounts,
                     Datatype* datatype, Op* op, Comm* comm, Request** request);
Code reduce_scatter_init(Process& process, const void* sendbuf, void* recvbuf, CountArray recvcounts,
                         Datatype* datatype, Op* op, Comm* comm, Info* info, Request** request);

Code scan(Process& process, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
          Comm* comm);
Code iscan(Process& process, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
           Comm* comm, Request** request);
Code scan_init(Process& process, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
               Comm* comm, Info* info, Request** request);

Code exscan(Process& process, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
            Comm* comm);
Code iexscan(Process& process, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op,
             Comm* comm, Request** request);
Code exscan_init(Process& process, const void* sendbuf, void* recvbuf, Count count, Datatype* datatype,
                 Op* op, Comm* comm, Info* info, Request** request);

// Neighbourhood collectives (MPI 8.6 to 8.8) on a communicator with a topology: one block for each neighbour,
// in the topology's order. MPI_IN_PLACE is not legal. Blocks of MPI_PROC_NULL neighbours are not touched.
// kErrTopology: no topology, or edges that do not match.

Code neighbor_allgather(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype,
                        void* recvbuf, Count recvcount, Datatype* recvtype, Comm* comm);
Code ineighbor_allgather(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype,
                         void* recvbuf, Count recvcount, Datatype* recvtype, Comm* comm, Request** request);
Code neighbor_allgather_init(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype,
                             void* recvbuf, Count recvcount, Datatype* recvtype, Comm* comm, Info* info,
                             Request** request);

Code neighbor_allgatherv(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype,
                         void* recvbuf, CountArray recvcounts, CountArray displs, Datatype* recvtype,
                         Comm* comm);
Code ineighbor_allgatherv(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype,
                          void* recvbuf, CountArray recvcounts, CountArray displs, Datatype* recvtype,
                          Comm* comm, Request** request);
Code neighbor_allgatherv_init(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype,
                              void* recvbuf, CountArray recvcounts, CountArray displs, Datatype* recvtype,
                              Comm* comm, Info* info, Request** request);

Code neighbor_alltoall(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype,
                       void* recvbuf, Count recvcount, Datatype* recvtype, Comm* comm);
Code ineighbor_alltoall(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype,
                        void* recvbuf, Count recvcount, Datatype* recvtype, Comm* comm, Request** request);
Code neighbor_alltoall_init(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype,
                            void* recvbuf, Count recvcount, Datatype* recvtype, Comm* comm, Info* info,
                            Request** request);

Code neighbor_alltoallv(Process& process, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                        Datatype* sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                        Datatype* recvtype, Comm* comm);
Code ineighbor_alltoallv(Process& process, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                         Datatype* sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                         Datatype* recvtype, Comm* comm, Request** request);
Code neighbor_alltoallv_init(Process& process, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                             Datatype* sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                             Datatype* recvtype, Comm* comm, Info* info, Request** request);

Code neighbor_alltoallw(Process& process, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                        Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                        Datatype* const* recvtypes, Comm* comm);
Code ineighbor_alltoallw(Process& process, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                         Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                         Datatype* const* recvtypes, Comm* comm, Request** request);
Code neighbor_alltoallw_init(Process& process, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                             Datatype* const* sendtypes, void* recvbuf, CountArray recvcounts,
                             CountArray rdispls, Datatype* const* recvtypes, Comm* comm, Info* info,
                             Request** request);

}  // namespace tasuki::api
