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

#include "base/types.hpp"
#include "coll/schedule.hpp"
#include "coll/select.hpp"

namespace tasuki {

/// One rank's place among those that run an algorithm.
struct Member {
  int rank = 0;
  int size = 1;
};

/// `count` elements at the start of a buffer of the call. `in_place`: the call gave MPI_IN_PLACE for them;
/// the data lies where its result or its origin would.
struct Elements {
  Space space = Space::kReceive;
  ElementType element = ElementType::kReceiveType;
  TypeShape type = {};
  Count count = 0;
  bool in_place = false;

  Place place() const { return {space, 0}; }
  Count bytes() const { return count * type.size; }
};

/// A buffer that has one block for each rank: equal blocks in the order of ranks, or the user's counts and
/// displacements.
struct Blocks {
  Space space = Space::kReceive;
  ElementType element = ElementType::kReceiveType;
  TypeShape type = {};
  Count count = 0;                // of each block, where there are no `counts`
  CountArray counts = {};         // elements
  CountArray displacements = {};  // in units of `displacement_bytes`
  Count displacement_bytes = 0;
  CountArray sizes = {};  // MPI_Alltoallw: bytes in one element of each rank's block; else type.size
  bool in_place = false;  // the call gave MPI_IN_PLACE for this buffer

  bool uniform() const { return !counts; }
  Count count_of(int rank) const { return counts ? counts[static_cast<std::size_t>(rank)] : count; }
  Count bytes_of(int rank) const {
    return count_of(rank) * (sizes ? sizes[static_cast<std::size_t>(rank)] : type.size);
  }
  Place place_of(int rank) const {
    if (!displacements) return {space, rank * count * type.extent};
    return {space, displacements[static_cast<std::size_t>(rank)] * displacement_bytes};
  }
};

/// A vector to be reduced: `count` elements, in the send buffer or, `in_place`, in the receive buffer.
struct Reduction {
  Count count = 0;
  TypeShape type = {};
  bool in_place = false;
  bool commutative = true;

  Place input() const { return {in_place ? Space::kReceive : Space::kSend, 0}; }
};
inline constexpr ElementType kReduced = ElementType::kReceiveType;  // the datatype of every reduction

int ceil_log2(int size);   // 0 for 1
int floor_pow2(int size);  // the largest power of two that is not above `size`

// Barrier: coll/barrier.cpp.

/// In round k every rank tells the one 2^k after it, and hears from the one 2^k before it. Steps: ceil(log2
/// P); bytes: none.
void barrier_dissemination(Schedule& schedule, Member self);
Cost barrier_dissemination_cost(int size);

// Broadcast: coll/bcast.cpp. `data` is the call's buffer (Space::kReceive).

/// Down a binomial tree, whole. Steps: ceil(log2 P); bytes: n * ceil(log2 P).
void bcast_binomial(Schedule& schedule, Member self, int root, const Elements& data);
Cost bcast_binomial_cost(int size, double bytes);

/// P pieces go down a binomial tree, one to each rank, and then around a ring. Steps: ceil(log2 P) + P - 1;
/// bytes: 2 n (P-1)/P. Data that is not contiguous is packed first and unpacked at the end.
void bcast_scatter_ring(Schedule& schedule, Member self, int root, const Elements& data);
Cost bcast_scatter_ring_cost(int size, double bytes);

enum class BcastAlgorithm { kBinomial, kScatterRing };
BcastAlgorithm choose_bcast(int size, Count bytes, const CostParameters& parameters);
void schedule_bcast(Schedule& schedule, Member self, int root, const Elements& data,
                    const CostParameters& parameters);

// Allgather: coll/allgather.cpp. `all` in the receive buffer; the rank's own block comes from `mine`.

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

enum class AllgatherAlgorithm { kRecursiveDoubling, kBruck, kRing };
AllgatherAlgorithm choose_allgather(int size, Count total_bytes, bool uniform);
void schedule_allgather(Schedule& schedule, Member self, const Elements& mine, const Blocks& all);

}  // namespace tasuki
