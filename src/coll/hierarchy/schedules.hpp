// Hierarchical collectives as schedules, for a communicator whose ranks are on several nodes: one part among
// the ranks of each node, and one among the nodes' leaders, in one schedule. So few messages go between
// nodes, and no byte goes to a node twice. Any placement of the ranks will do: nodes of different sizes,
// interleaved or reversed.
//
// The leader of a node is its first rank; in rooted operations the root is its own node's leader. Which
// algorithms the parts take is up to the caller, by operation: `within` a node, and `between` nodes. A part
// numbers its ranks from 0 (within: as NodeMap::ranks_of, between: by node), has the buffers of a call of its
// own, and is then mapped into the whole (Schedule::map_ranks, map_space).
//
// N nodes of m ranks, n bytes of a whole vector, b of one rank's block:
//
// | operation | within                          | between                 | bytes into or out of a node |
// |-----------|---------------------------------|-------------------------|-----------------------------|
// | barrier   | tree up, tree down              | dissemination           | 0                           |
// | bcast     | bcast                           | bcast                   | n                           |
// | reduce    | reduce                          | reduce                  | n                           |
// | allreduce | reduce, bcast                   | allreduce               | as that one's               |
// | " lanes   | reduce_scatter, allgather       | m allreduces of n/m     | as that one's of n          |
// | gather    | gather (root's node: linear)    | linear                  | m b                         |
// | scatter   | scatter (root's node: linear)   | linear                  | m b                         |
// | allgather | gather, bcast of all            | allgather               | (N-1) m b                   |
// | alltoall  | gather, scatter of P m blocks   | pairwise                | (N-1) m m b                 |
#pragma once

#include <functional>

#include "coll/algorithm/algorithms.hpp"
#include "placement/node_map.hpp"

namespace tasuki {

using BcastPart = std::function<void(Schedule&, Member, int root, const Elements&)>;
using ReducePart = std::function<void(Schedule&, Member, int root, const Reduction&)>;
using AllreducePart = std::function<void(Schedule&, Member, const Reduction&)>;
using ReduceScatterPart = std::function<void(Schedule&, Member, const Reduction&, const Blocks&)>;
using GatherPart = std::function<void(Schedule&, Member, int root, const Elements&, const Blocks&)>;
using ScatterPart = std::function<void(Schedule&, Member, int root, const Blocks&, const Elements&)>;
using AllgatherPart = std::function<void(Schedule&, Member, const Elements&, const Blocks&)>;

void hierarchical_barrier(Schedule& schedule, int rank, const NodeMap& map);

void hierarchical_bcast(Schedule& schedule, int rank, int root, const NodeMap& map, const Elements& data,
                        const BcastPart& within, const BcastPart& between);

/// For operations that do not commute: only where map.is_consecutive(), and by parts that keep the order.
void hierarchical_reduce(Schedule& schedule, int rank, int root, const NodeMap& map, const Reduction& data,
                         const ReducePart& within, const ReducePart& between);
void hierarchical_allreduce(Schedule& schedule, int rank, const NodeMap& map, const Reduction& data,
                            const ReducePart& within, const AllreducePart& between, const BcastPart& spread);

/// For long vectors and nodes of m ranks each: each rank of a node has a slice of the node's sum, and reduces
/// it with those of the other nodes that have the same one, all at once, each over links of its own. The
/// order of ranks as above.
void allreduce_lanes(Schedule& schedule, int rank, const NodeMap& map, const Reduction& data,
                     const ReduceScatterPart& within, const AllreducePart& between,
                     const AllgatherPart& spread);

/// Uniform blocks.
void hierarchical_gather(Schedule& schedule, int rank, int root, const NodeMap& map, const Elements& mine,
                         const Blocks& all, const GatherPart& within);
void hierarchical_scatter(Schedule& schedule, int rank, int root, const NodeMap& map, const Blocks& all,
                          const Elements& mine, const ScatterPart& within);

/// Any blocks. `between` has to take blocks that differ unless the nodes and the blocks are uniform; where
/// they are not, the node's blocks are gathered straight, else by `within`. Packed blocks of all ranks in
/// scratch memory.
void hierarchical_allgather(Schedule& schedule, int rank, const NodeMap& map, const Elements& mine,
                            const Blocks& all, const GatherPart& within, const AllgatherPart& between,
                            const BcastPart& spread);

/// Uniform blocks; also in place (`out` is `in`).
void hierarchical_alltoall(Schedule& schedule, int rank, const NodeMap& map, const Blocks& out,
                           const Blocks& in, const GatherPart& collect, const ScatterPart& spread);

}  // namespace tasuki
