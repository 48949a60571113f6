// Allgather around rings in several directions at once ("3-D multi-ring"), for networks on which a rank can
// send in that many directions, and receive from as many, in the same time.
//
// Each block is cut in as many parts as there are directions, two for each dimension of a grid, but four at
// most. Part by part a rank goes through a node segment for each dimension: along the first one, ring by
// ring, come the parts of the ranks on its line; along the second one those of its plane, a line at a time;
// then those of the space. The parts go through the dimensions in different turns, and the odd ones in
// negative direction, so that they use different links.
//
// | grid     | node segments              | ticks | a rank sends and receives   |
// |----------|---------------------|-------|-----------------------------|
// | x        | x-1                 | P-1   | (P-1) b/2 in 2 directions   |
// | x y      | x-1, x(y-1)         | P-1   | (P-1) b/4 in 4 directions   |
// | x y z    | x-1, x(y-1), xy(z-1)| P-1   | (P-1) b/4 in 4 directions   |
//
// A tick is the time of one part of one block.
#pragma once

#include "coll/pipeline/grid.hpp"

namespace tasuki {

/// How many directions are used at once.
int multi_ring_directions(const Grid& grid);
/// To how many neighbours they lead: in a dimension of two ranks both directions lead to the same one.
int multi_ring_neighbours(const Grid& grid);

/// Any blocks. Where they are not contiguous they travel through scratch memory for all of them.
void allgather_multi_ring(Schedule& schedule, int rank, const Grid& grid, const Elements& mine,
                          const Blocks& all);

/// Where a rank sends one message at a time and receives one at a time, a tick takes as many as there are
/// directions.
Cost allgather_multi_ring_cost(const Grid& grid, double total_bytes);

}  // namespace tasuki
