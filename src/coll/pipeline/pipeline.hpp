// Pipelined broadcast and reduction: the vector is cut in segments, which follow one another along a tree.
//
// What varies is the tree. A chain has the most steps and sends each byte once; a binary tree has few steps
// and sends each byte twice; the trees of several directions (coll/pipeline/multi_direction.hpp) cut the
// vector in parts, each of which has a tree of its own. One pair of functions runs them all, up or down.
//
// All ranks count the same *ticks*: in tick t segment k passes the edge that is t - k hops down from the root
// (a reduction: that many up from the deepest leaf). What a rank does in one tick is one round of its
// schedule, so it receives a segment while it hands on the one before. A tick takes one message time where
// the ranks can send and receive in all directions of the tree at once; else as many as a rank has children.
//
// Words: S is the number of hops to the deepest leaf, K that of segments, so both ways take S + K - 1 ticks.
// A segment is at least one element, and there are at most kSegmentsMax of them.
#pragma once

#include <array>
#include <span>

#include "coll/algorithm/algorithms.hpp"

namespace tasuki {

inline constexpr int kDirectionsMax = 3;
inline constexpr Count kSegmentsMax = 1024;

/// A rank's place in a tree.
struct PipelineTree {
  int parent = -1;  // a rank; -1 at the root
  int hops = 0;     // to the root
  int children_count = 0;
  std::array<int, kDirectionsMax> children = {};  // ranks, that with the longest way below it first

  void add_child(int rank) { children[static_cast<std::size_t>(children_count++)] = rank; }
};

/// How `count` units are cut in segments: all of `segment` units, but for the last.
struct Segments {
  Count count = 0;
  Count segment = 1;

  /// `segment_bytes` 0: one segment.
  Segments(Count units, Count unit_bytes, Count segment_bytes);

  int number() const { return static_cast<int>((count + segment - 1) / segment); }
  Count begin(int index) const { return index * segment; }
  Count length(int index) const { return index + 1 < number() ? segment : count - begin(index); }
};

/// Down the trees: part i of the data, an equal share, along trees[i]. `hops_max`: S. Data that is not
/// contiguous is packed first and unpacked at the end.
void bcast_pipelined(Schedule& schedule, std::span<const PipelineTree> trees, int hops_max,
                     const Elements& data, Count segment_bytes);

/// Up the trees. For commutative operations. Needs scratch memory for two segments from each child (at the
/// root one child less, where it is not in place).
void reduce_pipelined(Schedule& schedule, std::span<const PipelineTree> trees, int hops_max,
                      const Reduction& data, Count segment_bytes);

/// Both, one after the other, from and to the root of `trees`: an allreduce.
void allreduce_pipelined(Schedule& schedule, std::span<const PipelineTree> trees, int hops_max,
                         const Reduction& data, Count segment_bytes);

/// The ranks in a row, from the root on. Steps: P-1 + K-1; bytes: n.
PipelineTree chain_tree(Member self, int root);
int chain_hops(int size);

/// The ranks from the root on, level by level, two below each. Steps: at most 2 (floor(log2 P) + K-1); bytes:
/// 2n.
PipelineTree binary_tree(Member self, int root);
int binary_tree_hops(int size);

void bcast_chain(Schedule& schedule, Member self, int root, const Elements& data, Count segment_bytes);
Cost bcast_chain_cost(int size, double bytes, double segment_bytes);
void bcast_binary_tree(Schedule& schedule, Member self, int root, const Elements& data, Count segment_bytes);
Cost bcast_binary_tree_cost(int size, double bytes, double segment_bytes);

/// For commutative operations. Every rank but the leaves reduces n bytes (chain) or 2n (binary tree).
void reduce_chain(Schedule& schedule, Member self, int root, const Reduction& data, Count segment_bytes);
Cost reduce_chain_cost(int size, double bytes, double segment_bytes);
void reduce_binary_tree(Schedule& schedule, Member self, int root, const Reduction& data,
                        Count segment_bytes);
Cost reduce_binary_tree_cost(int size, double bytes, double segment_bytes);

/// The reduction to rank 0 and the broadcast from there. For commutative operations.
void allreduce_chain(Schedule& schedule, Member self, const Reduction& data, Count segment_bytes);
Cost allreduce_chain_cost(int size, double bytes, double segment_bytes);
void allreduce_binary_tree(Schedule& schedule, Member self, const Reduction& data, Count segment_bytes);
Cost allreduce_binary_tree_cost(int size, double bytes, double segment_bytes);

/// K, as Segments has it, for `bytes` of whole units.
double segments_number(double bytes, double segment_bytes);

}  // namespace tasuki
