// Partitioned communication: the user's calls (MPI 4.2). The rules of these signatures are in
// bindgen/README.md.
#pragma once

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "p2p/request.hpp"

namespace tasuki::api {

/// kErrArg: negative partitions; kErrCount: more bytes than a Count holds; kErrRank, kErrTag: a wildcard. No
/// info key is known.
Code psend_init(Process& process, const void* buf, int partitions, Count count, Datatype* datatype, int dest,
                int tag, Comm* comm, Info* info, Request** request);
Code precv_init(Process& process, void* buf, int partitions, Count count, Datatype* datatype, int source,
                int tag, Comm* comm, Info* info, Request** request);
/// kErrRequest: not a partitioned send, or not started; kErrArg: no such partition, or ready already. Then
/// none of the partitions has become ready.
Code pready(Process& process, int partition, Request* request);
Code pready_range(Process& process, int partition_low, int partition_high, Request* request);
Code pready_list(Process& process, int length, const int* array_of_partitions, Request* request);
/// True for null and inactive requests. A message of another size than the receive's shows at completion:
/// kErrTruncate, or kErrCount where it is shorter.
Code parrived(Process& process, Request* request, int partition, bool* flag);

}  // namespace tasuki::api
