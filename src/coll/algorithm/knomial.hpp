// Broadcast, reduction, gather and scatter along k-nomial trees (coll/algorithm/tree.hpp). The larger the
// radix, the fewer levels, and the more messages at each of them: a rank below another waits for ceil(log_k
// P) messages at most, while the root sends or receives up to k - 1 in each level. With the radix 2 these are
// the binomial algorithms of coll/algorithm/algorithms.hpp.
//
// | operation | steps                    | bytes                   |
// |-----------|--------------------------|-------------------------|
// | bcast     | C = children of the root | n C                     |
// | reduce    | C (+ 1)                  | n C, all of it reduced  |
// | gather    | C                        | (P-1) b                 |
// | scatter   | C                        | (P-1) b                 |
//
// C is (k-1) log_k P where P is a power of k. Steps are counted where a rank sends or receives one message at
// a time. REQUIRES: 2 <= radix <= kRadixMax.
#pragma once

#include "coll/algorithm/algorithms.hpp"

namespace tasuki {

inline constexpr int kRadixMax = 16;

void bcast_knomial(Schedule& schedule, Member self, int root, const Elements& data, int radix);
Cost bcast_knomial_cost(int size, double bytes, int radix);

/// In the order of ranks; where the operation does not commute the tree ends at rank 0, which hands the
/// result to the root. Scratch memory: up to k vectors.
void reduce_knomial(Schedule& schedule, Member self, int root, const Reduction& data, int radix);
Cost reduce_knomial_cost(int size, double bytes, bool commutative, int radix);

/// Inner ranks collect their subtree's blocks in scratch memory. Blocks uniform.
void gather_knomial(Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all,
                    int radix);
Cost gather_knomial_cost(int size, double block_bytes, int radix);

void scatter_knomial(Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine,
                     int radix);
Cost scatter_knomial_cost(int size, double block_bytes, int radix);

}  // namespace tasuki
