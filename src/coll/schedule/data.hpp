// What an algorithm knows of its call: the rank whose schedule it writes, and the data as elements,
// blocks or a vector to reduce, in buffers that are named by their space alone. Pure.
#pragma once

#include <cstddef>

#include "base/types.hpp"
#include "coll/schedule/schedule.hpp"

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
  friend bool operator==(const Elements&, const Elements&) = default;
};

/// A buffer that has one block for each rank: equal blocks in the order of ranks, or the user's counts and
/// displacements. In neighbourhood collectives: one block for each neighbour, in the topology's order.
struct Blocks {
  Space space = Space::kReceive;
  ElementType element = ElementType::kReceiveType;
  TypeShape type = {};
  Count count = 0;                // of each block, where there are no `counts`
  CountArray counts = {};         // elements
  CountArray displacements = {};  // in units of `displacement_bytes`
  Count displacement_bytes = 0;
  CountArray sizes = {};         // MPI_Alltoallw: bytes in one element of each rank's block; else type.size
  CountArray lower_bounds = {};  // MPI_Alltoallw: of each rank's datatype, the true one; else type.true_lb
  bool in_place = false;         // the call gave MPI_IN_PLACE for this buffer
  bool one_for_all = false;      // there is one block for all, at the start

  bool uniform() const { return !counts; }
  Count count_of(int rank) const { return counts ? counts[static_cast<std::size_t>(rank)] : count; }
  Count bytes_of(int rank) const {
    return count_of(rank) * (sizes ? sizes[static_cast<std::size_t>(rank)] : type.size);
  }
  /// Of all ranks before this one.
  Count elements_before(int rank) const {
    if (uniform()) return rank * count;
    Count elements = 0;
    for (int before = 0; before < rank; ++before) elements += count_of(before);
    return elements;
  }
  Place place_of(int rank) const {
    if (one_for_all) return {space, 0};
    if (!displacements) return {space, rank * count * type.extent};
    return {space, displacements[static_cast<std::size_t>(rank)] * displacement_bytes};
  }
};

/// A vector to be reduced: `count` elements, in the send buffer or, `in_place`, in the receive buffer.
struct Reduction {
  Count count = 0;
  TypeShape type = {};
  bool in_place = false;
  bool commutative = true;                  // the operands may be swapped
  Repeatable repeatable = Repeatable::kNo;  // kOrder: not commutative. kExact: elements are dense

  Place input() const { return {in_place ? Space::kReceive : Space::kSend, 0}; }
  friend bool operator==(const Reduction&, const Reduction&) = default;
};

/// The data of a call: what its operation has of these.
struct CallData {
  Elements elements = {};  // bcast: all; gather, scatter, allgather: this rank's own block
  Blocks out = {};         // all-to-all: what is sent; in place: as `blocks`
  Blocks blocks =
      {};  // gather, scatter, allgather: all; all-to-all: what is received; reduce-scatter: the parts
  Reduction vector = {};  // what reduces
};

inline constexpr ElementType kReduced = ElementType::kReceiveType;  // the datatype of every reduction

}  // namespace tasuki
