// The collectives of MPI chapter 6: blocking, nonblocking (6.12) and persistent (6.13), on
// intracommunicators. Signatures follow ARCHITECTURE.md. What the binding checks is not checked again; each
// operation's file checks the rest.
//
// Arguments that MPI calls not significant at a rank (the receive arguments of MPI_Gather away from the root,
// the send arguments beside MPI_IN_PLACE) are never looked at and may be null.
#pragma once

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "object/op.hpp"
#include "p2p/request.hpp"

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

}  // namespace tasuki::api
