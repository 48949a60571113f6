// Hierarchical collectives as calls on a hierarchy (coll/hierarchy/communicators.hpp). N nodes of m ranks, n
// bytes of a whole vector, b of one rank's block:
//
// | operation      | calls                                                  | bytes into or out of a node |
// |----------------|--------------------------------------------------------|-----------------------------|
// | barrier        | node, leaders, node                                    | 0                           |
// | bcast          | root's lane, node                                      | n                           |
// | reduce         | node, root's lane                                      | n                           |
// | allreduce      | reduce on the node, leaders, bcast on the node         | as that one's               |
// | " lanes        | reduce-scatter on the node, each lane, allgather there | as that one's of n          |
// | gather         | node, root's lane                                      | m b                         |
// | scatter        | root's lane, node                                      | m b                         |
// | allgather      | gather on the node, leaders, bcast on the node         | (N-1) m b                   |
// | alltoall       | node: what goes along each lane; each lane             | (N-1) m m b                 |
// | reduce_scatter | node: what goes along each lane; each lane             | (N-1) n / N                 |
// | scan           | node; exscan on the last lane, bcast on the node       | n                           |
// | exscan         | node; exscan on the last lane, bcast on the node       | n                           |
//
// The data is as for schedules (coll/algorithm/algorithms.hpp), in the buffers of `bound`. All but
// barrier, bcast, reduce, the first allreduce and allgather need nodes of as many ranks each. What reduces
// keeps the order of ranks where the nodes are consecutive.
//
// Thread safety: the caller holds the process lock.
// REQUIRES: hierarchy.has_lane_of(root).
#pragma once

#include "coll/hierarchy/communicators.hpp"
#include "coll/schedule/bound_schedule.hpp"
#include "coll/schedule/data.hpp"

namespace tasuki::hierarchy {

Code barrier(BoundSchedule& bound, Hierarchy& hierarchy, int root);
Code bcast(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Elements& data);
Code reduce(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Reduction& data);
Code allreduce(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Reduction& data);
Code allreduce_by_lanes(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Reduction& data);
Code gather(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Elements& mine, const Blocks& all);
Code scatter(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Blocks& all, const Elements& mine);
Code allgather(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Elements& mine, const Blocks& all);
Code alltoall(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Blocks& out, const Blocks& in);
Code reduce_scatter(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Reduction& data,
                    const Blocks& parts);
Code scan(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Reduction& data);
Code exscan(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Reduction& data);

}  // namespace tasuki::hierarchy
