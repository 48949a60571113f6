// The algorithms of the collectives and what they cost: pure functions. Each one writes the schedule of the
// rank `self`; its cost stands beside it, for the same communicator and data. docs/collectives.md has the
// table. Each operation's algorithms are in the file of its name.
//
// Words: P is the number of ranks, n the bytes of a whole vector, b those of one rank's block; "vrank" is a
// rank counted from the root on.
//
// Costs are exact where blocks are equal and P is a power of two, else close from above. Where the blocks
// differ, the formulas take them as equal shares of the total.
#pragma once

#include <bit>
#include <span>

#include "base/types.hpp"
#include "coll/schedule/data.hpp"
#include "coll/schedule/schedule.hpp"
#include "tuning/cost.hpp"

namespace tasuki {

int ceil_log2(int size);  // 0 for 1
/// The largest power of two that is not above `size`.
inline int floor_pow2(int size) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
}

/// How many blocks travel in all when a k-nomial tree of `size` ranks gathers or scatters one for each.
int tree_blocks_moved(int size, int radix = 2);
/// The children of its root, which has the most.
int tree_children_max(int size, int radix);
/// The messages from its root to the rank that is furthest down.
int tree_levels(int size, int radix);

/// The copy of a rank's own block to its place among all blocks; and back. Nothing where it is there already.
void place_own_block(Schedule& schedule, Member self, const Elements& mine, const Blocks& all);
void take_own_block(Schedule& schedule, Member self, const Blocks& all, const Elements& mine);

// Barrier: coll/algorithm/barrier.cpp.

/// In round k every rank sends to the one 2^k after it, and receives from the one 2^k before it. Steps:
/// ceil(log2 P); bytes: none.
void barrier_dissemination(Schedule& schedule, Member self);
Cost barrier_dissemination_cost(int size);

// Broadcast: coll/algorithm/bcast.cpp. `data` is the call's buffer (Space::kReceive).

/// Down a binomial tree, whole. Steps: ceil(log2 P); bytes: n * ceil(log2 P).
void bcast_binomial(Schedule& schedule, Member self, int root, const Elements& data);
Cost bcast_binomial_cost(int size, double bytes);

/// P pieces go down a binomial tree, one to each rank, and then around a ring, past those that have them
/// already. Steps: ceil(log2 P) + P - 1; bytes: 2 n (P-1)/P. Data that is not contiguous is packed first and
/// unpacked at the end.
void bcast_scatter_ring(Schedule& schedule, Member self, int root, const Elements& data);
Cost bcast_scatter_ring_cost(int size, double bytes);

/// The same, but gathered by recursive doubling. P must be a power of two. Steps: 2 log2 P; bytes: 2 n
/// (P-1)/P.
void bcast_scatter_doubling(Schedule& schedule, Member self, int root, const Elements& data);
Cost bcast_scatter_doubling_cost(int size, double bytes);

// Allgather: coll/algorithm/allgather.cpp. `all` in the receive buffer; the rank's own block comes from
// `mine`.

/// Doubles the run of blocks it has with each partner. P must be a power of two, blocks uniform. Steps:
/// log2 P; bytes: (P-1) b.
void allgather_recursive_doubling(Schedule& schedule, Member self, const Elements& mine, const Blocks& all);
Cost allgather_recursive_doubling_cost(int size, double total_bytes);

/// Bruck's: every rank collects the blocks that follow its own, doubling, in scratch memory. Any P, any
/// blocks. Steps: ceil(log2 P); bytes: (P-1) b.
void allgather_bruck(Schedule& schedule, Member self, const Elements& mine, const Blocks& all);
Cost allgather_bruck_cost(int size, double total_bytes);

/// Each block travels around the ring. Steps: P-1; bytes: (P-1) b; nothing is copied.
void allgather_ring(Schedule& schedule, Member self, const Elements& mine, const Blocks& all);
Cost allgather_ring_cost(int size, double total_bytes);

// Gather: coll/algorithm/gather.cpp. `all`, in the root's receive buffer, counts at the root only.

/// Every rank sends to the root. Steps: P-1; bytes: (P-1) b. Open to MPI_Gatherv.
void gather_linear(Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all);
Cost gather_linear_cost(int size, double block_bytes);

/// Up a binomial tree; inner ranks pack their subtree's blocks in scratch memory. Steps: ceil(log2 P); bytes:
/// (P-1) b, but each block travels up to log2 P times.
void gather_binomial(Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all);
Cost gather_binomial_cost(int size, double block_bytes);

// Scatter: coll/algorithm/scatter.cpp. `all`, in the root's send buffer, counts at the root only.

/// The root sends to every rank. Steps: P-1; bytes: (P-1) b. Open to MPI_Scatterv.
void scatter_linear(Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine);
Cost scatter_linear_cost(int size, double block_bytes);

/// Down a binomial tree. Steps: ceil(log2 P); bytes: (P-1) b, but each block travels up to log2 P times.
void scatter_binomial(Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine);
Cost scatter_binomial_cost(int size, double block_bytes);

// All-to-all: coll/algorithm/alltoall.cpp.

/// With distance d from 1 to P-1: to the rank d after, from the rank d before. A round takes as many
/// distances as reach `window_bytes`; ranks may differ in it. Steps: P-1; bytes: (P-1) b. Open to
/// MPI_Alltoallv and MPI_Alltoallw; empty blocks are not sent.
void alltoall_pairwise(Schedule& schedule, Member self, const Blocks& out, const Blocks& in,
                       Count window_bytes);
Cost alltoall_pairwise_cost(int size, double block_bytes);

/// For MPI_IN_PLACE: in turn t the ranks i and j with i + j = t (mod P) exchange their blocks, with a block
/// of scratch memory. A round takes as many turns as reach `window_bytes`; ranks may differ in it. Steps: P,
/// or P-1 in one round; bytes: (P-1) b. Open to MPI_Alltoallv and MPI_Alltoallw.
void alltoall_exchange(Schedule& schedule, Member self, const Blocks& all, Count window_bytes);
Cost alltoall_exchange_cost(int size, double block_bytes, Count window_bytes);

/// Bruck's: in round k the blocks whose way has bit k go 2^k ranks on. Blocks uniform; also in place (`out`
/// is `in`). Steps: ceil(log2 P); bytes: about b * P/2 * log2 P.
void alltoall_bruck(Schedule& schedule, Member self, const Blocks& out, const Blocks& in);
Cost alltoall_bruck_cost(int size, double block_bytes);

// Neighbourhoods: coll/algorithm/neighbor.cpp.

/// A rank's neighbours in a virtual topology; kProcNull where there is none.
struct Neighborhood {
  std::span<const int> sources;
  std::span<const int> destinations;
  bool is_grid = false;  // they come in pairs, negative and positive direction (MPI 8.6)
};

/// Straight to each destination and from each source, all at once; to and from oneself by copies. The k-th
/// message of those from one rank to another is the k-th edge between them; in a grid what leaves in one
/// direction comes in from the other, also where both neighbours are the same rank. Steps: the larger degree
/// d; bytes: d b.
void neighbor_direct(Schedule& schedule, int rank, const Neighborhood& neighbors, const Blocks& out,
                     const Blocks& in);
Cost neighbor_direct_cost(int size, int degree, double block_bytes);

// Reduce: coll/algorithm/reduce.cpp.

/// Up a binomial tree, whole, in the order of coll/algorithm/order.hpp. Steps: ceil(log2 P); bytes, and bytes
/// reduced: n * ceil(log2 P).
void reduce_binomial(Schedule& schedule, Member self, int root, const Reduction& data);
Cost reduce_binomial_cost(int size, double bytes);

/// Reduced by halves (coll/algorithm/halving.hpp), then the parts go up a binomial tree. In the same order.
/// Steps: 2 log2 P; bytes: 2 n (P-1)/P; reduced: n (P-1)/P. Where P is not a power of two: one step and n
/// bytes more.
void reduce_halving(Schedule& schedule, Member self, int root, const Reduction& data);
Cost reduce_halving_cost(int size, double bytes);

// Allreduce: coll/algorithm/allreduce.cpp.

/// Partners at distance 1, 2, 4 and so on exchange whole vectors; in the same order, and all ranks get the
/// same bits. Steps: log2 P; bytes, and bytes reduced: n log2 P. Where P is not a power of two: two steps
/// and n bytes more. The result goes to `result`.
void allreduce_recursive_doubling(Schedule& schedule, Member self, const Reduction& data, Place result);
Cost allreduce_recursive_doubling_cost(int size, double bytes);

/// Rabenseifner's: reduced by halves, then gathered by doubling. In the same order. Steps: 2 log2 P; bytes:
/// 2 n (P-1)/P; reduced: n (P-1)/P. Where P is not a power of two: two steps and n bytes more.
void allreduce_halving_doubling(Schedule& schedule, Member self, const Reduction& data);
Cost allreduce_halving_doubling_cost(int size, double bytes);

/// P parts travel around a ring being reduced, and once more complete. For commutative operations. Steps:
/// 2 (P-1); bytes: 2 n (P-1)/P; reduced: n (P-1)/P. Needs no scratch memory (in place: one part).
void allreduce_ring(Schedule& schedule, Member self, const Reduction& data);
Cost allreduce_ring_cost(int size, double bytes);

// Reduce-scatter: coll/algorithm/reduce_scatter.cpp. `parts` has the counts; the parts of the vector lie one
// after the other. n is the whole vector.

/// Each rank sends each other its part of its own vector. In the same order where the operation does not
/// commute, with scratch memory for a whole vector; else for two parts at most. Steps: P-1; bytes, and bytes
/// reduced: n (P-1)/P.
void reduce_scatter_pairwise(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts);
Cost reduce_scatter_pairwise_cost(int size, double bytes);

/// Reduced by halves. Steps: log2 P; bytes, and bytes reduced: n (P-1)/P. Where P is not a power of two: two
/// steps and n bytes more. Where the operation does not commute, in the same order: a step and 1/P of that
/// more, since the parts are not where they belong.
void reduce_scatter_halving(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts);
Cost reduce_scatter_halving_cost(int size, double bytes, bool commutative);

/// An allreduce of which each rank keeps its part: for short vectors, in the order of ranks. It costs the
/// same, and a copy.
void reduce_scatter_recursive_doubling(Schedule& schedule, Member self, const Reduction& data,
                                       const Blocks& parts);
Cost reduce_scatter_recursive_doubling_cost(int size, double bytes);

// Scan: coll/algorithm/scan.cpp. In the order of ranks.

/// In round k every rank hands its sum to the rank 2^k after it. Steps: ceil(log2 P); bytes, and bytes
/// reduced: n * ceil(log2 P).
void scan_recursive_doubling(Schedule& schedule, Member self, const Reduction& data);
Cost scan_recursive_doubling_cost(int size, double bytes);

/// Every rank hands its vector to the next one; then the ranks from 1 on scan these. Steps:
/// 1 + ceil(log2(P-1)); bytes: n more than a scan of P-1 ranks.
void exscan_recursive_doubling(Schedule& schedule, Member self, const Reduction& data);
Cost exscan_recursive_doubling_cost(int size, double bytes);

// Exact reductions: coll/algorithm/collect.cpp. All vectors of an element come together at a rank, in any
// order, and are combined in one step (Schedule::sum). Messages without elements are not sent.
// REQUIRES: data.repeatable is kExact.

/// Every rank gets all vectors, by Bruck's allgather. Steps: ceil(log2 P); bytes: n (P-1); reduced: n P. The
/// result goes to `result`.
void allreduce_collect(Schedule& schedule, Member self, const Reduction& data, Place result);
Cost allreduce_collect_cost(int size, double bytes);

/// Every rank gets a slice of all vectors, and hands its slice of the result to all. Steps: 2 (P-1); bytes:
/// 2 n (P-1)/P; reduced: n.
void allreduce_collect_slices(Schedule& schedule, Member self, const Reduction& data);
Cost allreduce_collect_slices_cost(int size, double bytes);

/// The root gets all vectors. Steps: P-1; bytes: n (P-1); reduced: n P.
void reduce_collect(Schedule& schedule, Member self, int root, const Reduction& data);
Cost reduce_collect_cost(int size, double bytes);

/// Every rank gets a slice of all vectors, and hands its slice of the result to the root. Steps: 2 (P-1);
/// bytes: 2 n (P-1)/P; reduced: n.
void reduce_collect_slices(Schedule& schedule, Member self, int root, const Reduction& data);
Cost reduce_collect_slices_cost(int size, double bytes);

/// Each rank gets its part of all vectors: reduce_scatter_pairwise() where it is to be exact.
void reduce_scatter_collect(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts);

/// Every rank gets the vectors of all lower ranks. Steps: P-1; bytes: n (P-1); reduced: n P. `inclusive`: and
/// adds its own.
void scan_collect(Schedule& schedule, Member self, const Reduction& data, bool inclusive);
Cost scan_collect_cost(int size, double bytes);

}  // namespace tasuki
