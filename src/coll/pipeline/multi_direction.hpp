// Pipelined broadcast and reduction along all d dimensions of a grid at once ("Trinaryx3"), for networks on
// which a rank can send in d directions, and receive from d, in the same time.
//
// The vector is cut in d parts. Part i has a tree of its own, which goes along dimension i first, then along
// the next ones (around: i, i+1, ..), and at last, for what lies in the root's plane, from the far end of
// dimension i around the torus:
//
//   - a point that is away from the root's plane gets the part along the last dimension, in that order,
//     in which it is away from the root;
//   - a point in the plane, but the root, gets it from the end of dimension i.
//
// So each point gets its d parts from d different directions, and each link in positive direction carries one
// part: the trees disturb each other nowhere. A rank of the tree has up to d children.
//
// | grid      | hops S          | ticks     | a rank sends and receives |
// |-----------|-----------------|-----------|---------------------------|
// | n1        | n1 - 1          | S + K - 1 | n in 1 direction          |
// | n1 n2     | n1 + n2 - 1     | S + K - 1 | n/2 in each of 2          |
// | n1 n2 n3  | n1 + n2 + n3 - 2| S + K - 1 | n/3 in each of 3          |
//
// K: the segments of one part. A tick is the time of one segment.
#pragma once

#include "coll/pipeline/grid.hpp"
#include "coll/pipeline/pipeline.hpp"

namespace tasuki {

/// The place of `rank` in the tree of part `part`. REQUIRES: 0 <= part < max(1, grid.dimensions).
PipelineTree direction_tree(const Grid& grid, int rank, int root, int part);
/// S.
int direction_hops(const Grid& grid);

void bcast_multi_direction(Schedule& schedule, int rank, int root, const Grid& grid, const Elements& data,
                           Count segment_bytes);

/// For commutative operations.
void reduce_multi_direction(Schedule& schedule, int rank, int root, const Grid& grid, const Reduction& data,
                            Count segment_bytes);

/// The reduction to rank 0, and the broadcast from there. For commutative operations.
void allreduce_multi_direction(Schedule& schedule, int rank, const Grid& grid, const Reduction& data,
                               Count segment_bytes);

/// Where a rank sends one message at a time and receives one at a time, a tick takes d messages.
Cost bcast_multi_direction_cost(const Grid& grid, double bytes, double segment_bytes);
Cost reduce_multi_direction_cost(const Grid& grid, double bytes, double segment_bytes);
Cost allreduce_multi_direction_cost(const Grid& grid, double bytes, double segment_bytes);

}  // namespace tasuki
