// The algorithms for large data among ranks that share memory: each works in the others' buffers, in place.
// Pure functions, as those of coll/algorithm/algorithms.hpp: each writes the schedule of the rank `self`,
// with its cost beside it. docs/collectives.md has the table.
//
// All reduce in the order of ranks, each element at one rank only, and by the tree of
// coll/algorithm/order.hpp or exactly (reduction/exact.hpp) where it is to be repeatable: so they are open to
// operations that do not commute, and where all get the result they get the same bits. None needs all ranks
// to have the same kind of memory or datatype; data that is private or has gaps is copied once more
// (ExposedBuffer in coll/schedule/schedule.hpp).
//
// Those named ..._copy let the others read a copy that is kept (ExposedBuffer::Use::kKept): its owner need
// not wait until they have, so ranks may come one by one, and one that only gives may run ahead of the
// others.
//
// Words: as in coll/algorithm/algorithms.hpp. "Syncs" are times that a rank waits for others, on the critical
// path.
#pragma once

#include "coll/algorithm/algorithms.hpp"
#include "tuning/parameters.hpp"
#include "tuning/problem.hpp"

namespace tasuki {

/// How much of a slice is reduced before it is handed on: it has to stay in the first cache with its
/// operands.
inline constexpr Count kPieceBytes = 8 * 1024;

inline constexpr Count kCacheLineBytes = 64;
inline constexpr int kOffered = 1;  // the first flag: the rank's buffer may be used

inline Place input_of(int member) {
  return {Space::kInput, 0, member};
}
inline Place output_of(int member) {
  return {Space::kOutput, 0, member};
}

/// The elements that the rank with this number works on where the ranks divide a vector among themselves.
/// Slices begin at multiples of a cache line's worth of elements.
struct Slice {
  Count first = 0;
  Count count = 0;
};
Slice slice_of(Member self, Count count, Count element_bytes);

/// What such an algorithm costs.
struct SingleCopyCost {
  double syncs = 0;            // times that ranks wait for each other, on the critical path
  double moved_bytes = 0;      // from buffer to buffer, by the busiest rank
  double reduced_bytes = 0;    // by the busiest rank
  double total_bytes = 0;      // moved and reduced by all ranks together
  double kept_bytes = 0;       // of one rank's copy that is kept for others
  double got_bytes = 0;        // that a rank gets of other ranks' data, and no other rank does
  double got_alike_bytes = 0;  // that all ranks get alike
  double put_bytes = 0;        // that a rank finds in its buffer, put there by others
  double put_run_bytes = 0;    // of them at once, where they are moved there, and not combined
  bool from_one = false;       // all of these come from one rank
  bool put_to_one = false;     // only one rank finds such
  bool alone = false;          // the others have little to do beside the busiest rank
  bool one_way =
      false;  // no rank waits for a rank that depends on it, but for room to keep copies in: calls overlap
  bool all_meet = false;  // ranks wait for each other, not only some for others
};

/// Its time. Where ranks share processors, a rank that waits gives its turn to the others.
double single_copy_ns(const SingleCopyCost& cost, const Problem& problem, const Parameters& parameters);

// Moving data: coll/shm/single_copy_move.cpp.

/// Each rank gets the root's data; only the root waits. Syncs: 2; bytes moved by the busiest: n.
void single_copy_bcast(Schedule& schedule, Member self, int root, const Elements& data);
SingleCopyCost single_copy_bcast_cost(int size, double bytes);

/// The root puts a share of 1/P to each rank, which gets the rest meanwhile. Syncs: 2; bytes moved: n
/// (P-1)/P.
void single_copy_bcast_split(Schedule& schedule, Member self, int root, const Elements& data);
SingleCopyCost single_copy_bcast_split_cost(int size, double bytes);

/// Each rank gets from a copy of the root's data. Syncs: 1; bytes moved: n.
void single_copy_bcast_copy(Schedule& schedule, Member self, int root, const Elements& data);
SingleCopyCost single_copy_bcast_copy_cost(int size, double bytes);

/// Each rank puts its block into the root's buffer. Syncs: 2; bytes moved: b. Open to MPI_Gatherv.
void single_copy_gather(Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all);
SingleCopyCost single_copy_gather_cost(int size, double block_bytes);

/// The root gets all blocks out of copies. Syncs: 1; bytes moved: P b.
void single_copy_gather_copy(Schedule& schedule, Member self, int root, const Elements& mine,
                             const Blocks& all);
SingleCopyCost single_copy_gather_copy_cost(int size, double block_bytes);

/// Each rank gets its block out of the root's buffer. Syncs: 2; bytes moved: b. Open to MPI_Scatterv.
void single_copy_scatter(Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine);
SingleCopyCost single_copy_scatter_cost(int size, double block_bytes);

/// Each rank gets its block out of a copy of the root's. Syncs: 1; bytes moved: P b.
void single_copy_scatter_copy(Schedule& schedule, Member self, int root, const Blocks& all,
                              const Elements& mine);
SingleCopyCost single_copy_scatter_copy_cost(int size, double block_bytes);

/// Each rank gets the others' blocks, beginning with the rank after it. Syncs: 2; bytes moved: P b. Open to
/// MPI_Allgatherv.
void single_copy_allgather(Schedule& schedule, Member self, const Elements& mine, const Blocks& all);
SingleCopyCost single_copy_allgather_cost(int size, double total_bytes);

/// Each rank gets its blocks, beginning with that of the rank after it; in place it swaps half of each of its
/// blocks with what the other rank has for it. Syncs: 2; bytes moved: P b (in place: (P-1) b). Open to
/// MPI_Alltoallv and MPI_Alltoallw.
void single_copy_alltoall(Schedule& schedule, Member self, const Blocks& out, const Blocks& in);
SingleCopyCost single_copy_alltoall_cost(int size, double block_bytes, bool in_place);

// Reducing: coll/shm/single_copy_reduce.cpp. The vector is cut in P slices; each rank reduces one, out of all
// inputs.

/// Into the root's buffer. Syncs: 2; bytes reduced: n (P-1)/P.
void single_copy_reduce(Schedule& schedule, Member self, int root, const Reduction& data);
SingleCopyCost single_copy_reduce_cost(int size, double bytes);

/// The root reduces copies of all inputs. Syncs: 1; bytes moved: n; reduced: n (P-1).
void single_copy_reduce_copy(Schedule& schedule, Member self, int root, const Reduction& data);
SingleCopyCost single_copy_reduce_copy_cost(int size, double bytes);

/// Each rank writes its slice of the result to all. Syncs: 2; bytes reduced and moved: n (P-1)/P each.
void single_copy_allreduce(Schedule& schedule, Member self, const Reduction& data);
SingleCopyCost single_copy_allreduce_cost(int size, double bytes);

/// Each rank reduces its part. Syncs: 2; bytes reduced: n (P-1)/P (of the longest part, P-1 times).
void single_copy_reduce_scatter(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts);
SingleCopyCost single_copy_reduce_scatter_cost(int size, double bytes);

/// Each rank makes its slice of all results, one after the other. Syncs: 2; bytes reduced: n (P-1)/P; moved:
/// n/P. Where it is to be repeatable, by doubling: bytes reduced: n/P (P lg P - P + 1), in the caches.
void single_copy_scan(Schedule& schedule, Member self, const Reduction& data);
SingleCopyCost single_copy_scan_cost(int size, double bytes);

/// The same without the last vector. Syncs: 2; bytes reduced: n (P-2)/P; moved: n (P-1)/P.
void single_copy_exscan(Schedule& schedule, Member self, const Reduction& data);
SingleCopyCost single_copy_exscan_cost(int size, double bytes);

}  // namespace tasuki
