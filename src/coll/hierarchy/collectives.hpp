// Hierarchical collectives, for a communicator whose ranks are on several nodes: parts within the nodes and
// between them (coll/hierarchy/parts.hpp), so that few messages go between nodes, and no byte goes to a node
// twice. N nodes of m ranks, P ranks in all, n bytes of a whole vector, b of one rank's block; "node" is a
// part on each node, "carriers" one between them, "lanes" one along each lane:
//
// | operation      | parts                                                | between nodes   | nodes |
// |----------------|------------------------------------------------------|-----------------|-------|
// | barrier        | node gather, carriers barrier, node bcast; of a byte | 0               | any   |
// | bcast          | carriers bcast, node bcast                           | n               | any   |
// | reduce         | node reduce, carriers reduce                         | n               | any   |
// | allreduce      | node reduce, carriers allreduce, node bcast          | its allreduce's | any   |
// | " lanes        | node reduce-scatter, lanes allreduce, node allgather | its allreduces' | equal |
// | gather         | node gather, carriers gather of m b                  | m b             | any   |
// | scatter        | carriers scatter of m b, node scatter                | m b             | any   |
// | allgather      | node gather, carriers allgather of m b, node bcast   | (P-m) b         | any   |
// | alltoall       | node alltoall of N b, lanes alltoall of m b          | m (P-m) b       | equal |
// | reduce_scatter | node reduce-scatter, lanes reduce-scatter of n/m     | n (N-1)/N       | equal |
// | scan           | node scan, carriers exscan, node bcast               | n               | equal |
// | exscan         | node exscan, carriers exscan, node bcast             | n               | equal |
// | gatherv        | node gatherv, carriers gatherv                       | of the node     | any   |
// | scatterv       | carriers scatterv, node scatterv                     | of the node     | any   |
// | alltoallv      | node alltoallv, then one message to each rank        | of the node     | any   |
//
// Between nodes: bytes into or out of a node. Nodes: with any numbers of ranks, or with equal numbers (else
// other algorithms run); ranks may lie on them in any way. From reduce_scatter on they are chosen for
// blocking calls alone; in the last three, long blocks go straight to their receivers. What reduces keeps the
// order of ranks where the nodes are consecutive and the parts keep it: so operations that do not commute,
// and both scans, ask for that.
//
// The data is as for any algorithm (coll/algorithm/algorithms.hpp). Each collective takes its scratch memory
// before its first part.
#pragma once

#include "coll/hierarchy/parts.hpp"

namespace tasuki::hierarchy {

using Collective = void(Parts& parts, const CallData& data);

// coll/hierarchy/collectives.cpp
Collective barrier, bcast, reduce, allreduce, allreduce_by_lanes, reduce_scatter, scan, exscan;
// coll/hierarchy/collectives_of_blocks.cpp
Collective gather, scatter, allgather, alltoall;
// coll/hierarchy/collectives_of_unequal_blocks.cpp
Collective gatherv, scatterv, alltoallv;

}  // namespace tasuki::hierarchy
