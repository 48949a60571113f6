// The one order in which a reduction combines the vectors of its ranks, where that is asked for
// (Reduction::repeatable). It depends on the number of ranks P and on nothing else:
//
//  - All ranks: W is the largest power of two up to P. The first 2 (P - W) ranks are combined in pairs. These
//    pairs and the ranks after them are the W leaves of a balanced tree. So recursive doubling does it. On
//    nodes of 2^k consecutive ranks each the tree has a subtree for each node, and those above are the tree
//    of the nodes.
//  - A scan, at the rank r: the last 2^k of the ranks 0 to r, with the largest k that leaves a rank, are a
//    balanced tree, and the right operand; the ranks before them, likewise, are the left one. So the scan by
//    doubling does it.
//
// The left operand is that of the lower ranks. Pure.
#pragma once

#include "coll/algorithm/algorithms.hpp"

namespace tasuki {

/// The pairs and the leaves. In each pair one rank, the "guest", hands its vector to the other one, its
/// "host", and stands aside. The hosts and the ranks that have no pair work, numbered by an index. In its
/// pair the root is the host, else the lower rank.
struct Fold {
  int root;
  int workers;  // a power of two
  int rest;     // guests

  Fold(int size, int root_rank) : root(root_rank), workers(floor_pow2(size)), rest(size - floor_pow2(size)) {}

  bool is_in_pair(int rank) const { return rank < 2 * rest; }
  bool is_guest(int rank) const { return is_in_pair(rank) && rank != rank_of(rank / 2); }
  bool is_host(int rank) const { return is_in_pair(rank) && rank == rank_of(rank / 2); }
  /// The other one of its pair; and whether a rank's own vector is the left operand there.
  static int partner(int rank) { return rank ^ 1; }
  static bool is_left(int rank) { return rank % 2 == 0; }
  int index(int rank) const { return is_in_pair(rank) ? rank / 2 : rank - rest; }
  int rank_of(int at_index) const {
    const int first = first_of(at_index);
    return at_index < rest && partner(first) == root ? root : first;
  }
  /// The first rank of the leaf; of the number of leaves: P.
  int first_of(int at_index) const { return at_index < rest ? 2 * at_index : at_index + rest; }
};

/// Where a node of the tree of all ranks, which has the ranks [first, end), at least two, is divided.
inline int middle_of_all(const Fold& fold, int first, int end) {
  const int leaf = fold.index(first);
  const int leaves = fold.index(end) - leaf;
  return leaves > 1 ? fold.first_of(leaf + leaves / 2) : first + 1;
}

/// The same in a scan.
inline int middle_of_scan(int first, int end) {
  return end - floor_pow2(end - first - 1);
}

/// The two places in which a rank combines its vector with others, or a part of it that gets smaller and
/// smaller: the result's, and a room beside it. Places are those of the vector's first element.
class Operands {
 public:
  /// `starts_in_room`: what is combined first goes to the room.
  Operands(Schedule& schedule, const Reduction& data, Place result, bool starts_in_room = false)
      : schedule_(schedule), data_(data), result_(result), value_(data.input()) {
    if (starts_in_room && !(value_ == result_)) make_room(0, data.count);
    first_to_room_ = starts_in_room;
  }

  /// Where this rank's vector lies: the input, until something was combined.
  Place value() const { return value_; }

  /// Where `count` elements from `first` on are to be received, in the round that is open. Only those of the
  /// value count after that.
  Place expect(bool own_is_left, Count first, Count count);
  /// After that round: combines the two.
  void combine();
  /// Brings the elements to the result.
  void end(Count first, Count count);

 private:
  Place at(Place place) const { return place + first_ * data_.type.extent; }
  void make_room(Count first, Count count) {
    room_ = schedule_.scratch_elements(count, data_.type) + -first * data_.type.extent;
    has_room_ = true;
  }

  Schedule& schedule_;
  const Reduction& data_;
  Place result_, room_, value_;
  Place other_;  // what is expected
  Count first_ = 0, count_ = 0;
  bool own_is_left_ = false, has_room_ = false, first_to_room_ = false;
};

}  // namespace tasuki
