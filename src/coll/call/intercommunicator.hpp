// Collectives on intercommunicators (MPI 6.2.3): what is called at the ranks of one group comes from those of
// the other.
//
// The schedules: a send or receive goes to a rank of the remote group, unless its step is marked local
// (Schedule::make_local). So a local phase is an algorithm of coll/algorithm/algorithms.hpp, run among the
// local group by the same schedule. P is the number of local ranks, Q of remote ones; n the bytes of a
// vector.
//
// The root of a rooted operation says kRoot, the others of its group kProcNull, which have nothing to do and
// whose other arguments mean nothing (datatypes and operation may be null); the ranks of the other group give
// the root's rank.
#pragma once

#include "coll/algorithm/algorithms.hpp"
#include "coll/run/execution.hpp"

namespace tasuki {

inline constexpr const char* kNotOnInter = "nowhere on an intercommunicator";

/// Local dissemination; the two ranks 0 exchange a message; local binomial tree. Steps: 2 ceil(log2 P) + 1.
void inter_barrier(Schedule& schedule, Member self);

/// Both groups' ranks 0 exchange `bytes`, and hand both to all: at the front of the receive buffer the local
/// ones (given by rank 0 there), behind them the remote ones. Steps: 1 + ceil(log2 P).
void inter_exchange_of_leaders(Schedule& schedule, Member self, Count bytes);

/// Every rank sends its block for each remote rank and receives one from each; all at once, in turn from this
/// rank's number on. Steps: max(P, Q); bytes: Q blocks. Empty blocks are not sent.
void inter_exchange(Schedule& schedule, Member self, const Blocks& out, const Blocks& in, int remote_size);

/// What every rank sends and expects in an exchange with `size` ranks, empty blocks too
/// (coll/check/call_comparison.hpp); `self`: this rank, where it is one of them.
void write_ends(Schedule& ends, const Blocks& out, const Blocks& in, int size, int self = -1);

/// The local group's sum, in the order of its ranks or exact, in scratch memory at every rank.
Place inter_local_sum(Schedule& schedule, Member self, const Reduction& data);

// The plans of the calls on an intercommunicator: check the arguments, fill in the execution's.
// `all` counts where this process is the root.
Code plan_inter_barrier(Execution& execution);
Code plan_inter_bcast(Execution& execution, void* buffer, Count count, Datatype* datatype, int root);
Code plan_inter_gather(Execution& execution, const void* sendbuf, Count sendcount, Datatype* sendtype,
                       void* recvbuf, Datatype* recvtype, int root, const Blocks& all);
Code plan_inter_scatter(Execution& execution, const void* sendbuf, Datatype* sendtype, void* recvbuf,
                        Count recvcount, Datatype* recvtype, int root, const Blocks& all);
Code plan_inter_allgather(Execution& execution, const void* sendbuf, Count sendcount, Datatype* sendtype,
                          void* recvbuf, Datatype* recvtype, const Blocks& all);
Code plan_inter_reduce(Execution& execution, const void* sendbuf, void* recvbuf, Count count,
                       Datatype* datatype, Op* op, int root);
Code plan_inter_allreduce(Execution& execution, const void* sendbuf, void* recvbuf, Count count,
                          Datatype* datatype, Op* op);
/// `count`: of the whole vector, of which rank r of this group gets part r of the remote group's sum.
Code plan_inter_reduce_scatter(Execution& execution, const void* sendbuf, void* recvbuf, Count count,
                               const Blocks& parts, Datatype* datatype, Op* op);

}  // namespace tasuki
