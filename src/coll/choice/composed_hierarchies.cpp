// hierarchical collectives as the registry sees them: see coll/choice/composed.hpp. Each part is a problem
// of its own, whose algorithm is chosen like any other's; what is said for a node is said for the one with
// the most ranks.
#include <span>
#include <type_traits>

#include "coll/choice/composed.hpp"
#include "coll/choice/flag_limits.hpp"
#include "coll/hierarchy/schedules.hpp"
#include "tuning/cost.hpp"

namespace tasuki::composed {
namespace {

/// Where the parts are collectives of their own, they have what these have.
Problem within(const Problem& problem, Operation operation, Count bytes, int size) {
  Problem part{.operation = operation,
               .size = size,
               .bytes = bytes,
               .commutative = problem.commutative,
               .blocking = problem.composed,
               .node_segment = problem.composed,
               .node_ranks_max = size,
               .processors = problem.processors,
               .distance = problem.distance};
  part.flags = problem.composed && shown_bytes(part) <= kInlineBytes;
  return part;
}
Problem within(const Problem& problem, Operation operation, Count bytes) {
  return within(problem, operation, bytes, problem.node_ranks_max);
}

/// The nodes may have different numbers of ranks, so their blocks count as different.
Problem between(const Problem& problem, Operation operation, Count bytes) {
  return {.operation = operation,
          .size = problem.nodes,
          .bytes = bytes,
          .commutative = problem.commutative,
          .uniform = false,
          .nodes = problem.nodes,
          .processors = problem.processors,
          .distance = problem.distance};
}

/// What the best algorithm takes.
double best_ns(const Problem& problem, const Parameters& parameters) {
  return choose(candidates_of(problem.operation), problem, parameters, {}).predicted_ns;
}

/// Writes the schedule of the best algorithm.
void run_best(const Problem& problem, const Parameters& parameters, Schedule& schedule, Member self, int root,
              const CallData& data) {
  const std::span<const Algorithm> candidates = candidates_of(problem.operation);
  const Selection best = choose(candidates, problem, parameters, {});
  candidates[static_cast<std::size_t>(best.place)].schedule(schedule,
                                                            {.self = self,
                                                             .root = root,
                                                             .segment_bytes = best.segment_bytes,
                                                             .problem = &problem,
                                                             .parameters = &parameters},
                                                            data);
}

double blocks(const Problem& problem, Count number) {
  return static_cast<double>(number * problem.bytes);
}

/// Messages between the root and the other nodes' leaders, one after the other, with the blocks of their
/// ranks.
double with_leaders_ns(const Problem& problem, const Parameters& parameters) {
  const double bytes = blocks(problem, problem.size - problem.node_ranks_max);
  const double others = problem.nodes - 1;
  return cost_ns({.steps = others, .messages = others, .bytes = bytes, .total_bytes = bytes, .one_way = true},
                 between(problem, problem.operation, 0), parameters);
}

}  // namespace

bool has_hierarchy(const Problem& problem) {
  return problem.nodes > 1 && problem.nodes < problem.size && (problem.commutative || problem.consecutive);
}

bool has_lanes(const Problem& problem) {
  return has_hierarchy(problem) && problem.nodes * problem.node_ranks_max == problem.size;
}

bool may_call_lanes(const Problem& problem) {
  return problem.composed && has_lanes(problem);
}
bool may_call_lanes_in_order(const Problem& problem) {
  return may_call_lanes(problem) && problem.consecutive;
}

// Barrier, bcast, reduce, allreduce.

double hierarchical_barrier_ns(const Problem& problem, const Parameters& parameters, Count) {
  const Problem node = within(problem, Operation::kBarrier, 0);
  const double nodes_ns =
      problem.composed ? 2 * best_ns(node, parameters)
                       : cost_ns({.steps = 2.0 * ceil_log2(node.size), .messages = 2.0 * (node.size - 1)},
                                 node, parameters);
  return nodes_ns + cost_ns(barrier_dissemination_cost(problem.nodes),
                            between(problem, Operation::kBarrier, 0), parameters);
}

void hierarchical_barrier(Schedule& schedule, const Team& team) {
  tasuki::hierarchical_barrier(schedule, team.self.rank, *team.nodes);
}

namespace {

/// Calls with the parts of each operation, for `team`.
struct Parts {
  const Team& team;

  BcastPart bcast(bool is_within) const {
    return [*this, is_within](Schedule& schedule, Member self, int root, const Elements& data) {
      run_best(part(is_within, Operation::kBcast, data.bytes(), self), *team.parameters, schedule, self, root,
               {.elements = data});
    };
  }
  ReducePart reduce(bool is_within) const {
    return [*this, is_within](Schedule& schedule, Member self, int root, const Reduction& data) {
      run_best(part(is_within, Operation::kReduce, team.problem->bytes, self), *team.parameters, schedule,
               self, root, {.vector = data});
    };
  }
  GatherPart gather(Count block) const {
    return
        [*this, block](Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all) {
          run_best(part(true, Operation::kGather, block, self), *team.parameters, schedule, self, root,
                   {.elements = mine, .blocks = all});
        };
  }
  ScatterPart scatter(Count block) const {
    return
        [*this, block](Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine) {
          run_best(part(true, Operation::kScatter, block, self), *team.parameters, schedule, self, root,
                   {.elements = mine, .blocks = all});
        };
  }

  Problem part(bool is_within, Operation operation, Count bytes, Member self) const {
    return is_within ? within(*team.problem, operation, bytes, self.size)
                     : between(*team.problem, operation, bytes);
  }
};

}  // namespace

double hierarchical_bcast_ns(const Problem& problem, const Parameters& parameters, Count) {
  return best_ns(within(problem, Operation::kBcast, problem.bytes), parameters) +
         best_ns(between(problem, Operation::kBcast, problem.bytes), parameters);
}

void hierarchical_bcast(Schedule& schedule, const Team& team, const Elements& data) {
  const Parts parts{team};
  tasuki::hierarchical_bcast(schedule, team.self.rank, team.root, *team.nodes, data, parts.bcast(true),
                             parts.bcast(false));
}

double hierarchical_reduce_ns(const Problem& problem, const Parameters& parameters, Count) {
  return best_ns(within(problem, Operation::kReduce, problem.bytes), parameters) +
         best_ns(between(problem, Operation::kReduce, problem.bytes), parameters);
}

void hierarchical_reduce(Schedule& schedule, const Team& team, const Reduction& data) {
  const Parts parts{team};
  tasuki::hierarchical_reduce(schedule, team.self.rank, team.root, *team.nodes, data, parts.reduce(true),
                              parts.reduce(false));
}

double hierarchical_allreduce_ns(const Problem& problem, const Parameters& parameters, Count) {
  return best_ns(within(problem, Operation::kReduce, problem.bytes), parameters) +
         best_ns(between(problem, Operation::kAllreduce, problem.bytes), parameters) +
         best_ns(within(problem, Operation::kBcast, problem.bytes), parameters);
}

void hierarchical_allreduce(Schedule& schedule, const Team& team, const Reduction& data) {
  const Parts parts{team};
  const AllreducePart between_nodes = [&](Schedule& part, Member self, const Reduction& sums) {
    run_best(between(*team.problem, Operation::kAllreduce, team.problem->bytes), *team.parameters, part, self,
             0, {.vector = sums});
  };
  tasuki::hierarchical_allreduce(schedule, team.self.rank, *team.nodes, data, parts.reduce(true),
                                 between_nodes, parts.bcast(true));
}

double allreduce_lanes_ns(const Problem& problem, const Parameters& parameters, Count) {
  Problem slices = within(problem, Operation::kAllgather, problem.bytes);
  slices.uniform = slices.flags = false;
  // The lanes of a node run beside one another: each takes a share of its processors.
  const Count slice = (problem.bytes + problem.node_ranks_max - 1) / problem.node_ranks_max;
  Problem lane = between(problem, Operation::kAllreduce, slice);
  lane.node_ranks_max = problem.node_ranks_max;
  return best_ns(within(problem, Operation::kReduceScatter, problem.bytes), parameters) +
         best_ns(lane, parameters) + best_ns(slices, parameters);
}

void allreduce_lanes(Schedule& schedule, const Team& team, const Reduction& data) {
  const Problem& problem = *team.problem;
  const ReduceScatterPart within_node = [&](Schedule& part, Member self, const Reduction& vector,
                                            const Blocks& slices) {
    run_best(within(problem, Operation::kReduceScatter, problem.bytes), *team.parameters, part, self, 0,
             {.blocks = slices, .vector = vector});
  };
  const AllreducePart lane = [&](Schedule& part, Member self, const Reduction& slice) {
    run_best(between(problem, Operation::kAllreduce, slice.count * slice.type.size), *team.parameters, part,
             self, 0, {.vector = slice});
  };
  const AllgatherPart spread = [&](Schedule& part, Member self, const Elements& own, const Blocks& slices) {
    Problem all = within(problem, Operation::kAllgather, problem.bytes);
    all.uniform = false;
    run_best(all, *team.parameters, part, self, 0, {.elements = own, .blocks = slices});
  };
  tasuki::allreduce_lanes(schedule, team.self.rank, *team.nodes, data, within_node, lane, spread);
}

// Gather, scatter, allgather, alltoall.

/// Along the root's lane, with the blocks of a node.
double with_lane_ns(const Problem& problem, const Parameters& parameters) {
  const Problem lane = between(problem, problem.operation, problem.node_ranks_max * problem.bytes);
  return best_ns(lane, parameters);
}

double hierarchical_gather_ns(const Problem& problem, const Parameters& parameters, Count) {
  const Problem node = within(problem, Operation::kGather, problem.bytes);
  if (problem.composed) return best_ns(node, parameters) + with_lane_ns(problem, parameters);
  return best_ns(node, parameters) + with_leaders_ns(problem, parameters) +
         cost_ns(gather_linear_cost(node.size, blocks(problem, 1)), node, parameters);
}

void hierarchical_gather(Schedule& schedule, const Team& team, const Elements& mine, const Blocks& all) {
  tasuki::hierarchical_gather(schedule, team.self.rank, team.root, *team.nodes, mine, all,
                              Parts{team}.gather(team.problem->bytes));
}

double hierarchical_scatter_ns(const Problem& problem, const Parameters& parameters, Count) {
  const Problem node = within(problem, Operation::kScatter, problem.bytes);
  if (problem.composed) return best_ns(node, parameters) + with_lane_ns(problem, parameters);
  return best_ns(node, parameters) + with_leaders_ns(problem, parameters) +
         cost_ns(scatter_linear_cost(node.size, blocks(problem, 1)), node, parameters);
}

void hierarchical_scatter(Schedule& schedule, const Team& team, const Blocks& all, const Elements& mine) {
  tasuki::hierarchical_scatter(schedule, team.self.rank, team.root, *team.nodes, all, mine,
                               Parts{team}.scatter(team.problem->bytes));
}

double hierarchical_allgather_ns(const Problem& problem, const Parameters& parameters, Count) {
  const Count bytes = problem.bytes;
  // What is packed is unpacked too, unless it lies in its place.
  const double copied = problem.consecutive && problem.uniform ? 0 : static_cast<double>(bytes);
  return best_ns(within(problem, Operation::kGather, bytes / problem.size), parameters) +
         best_ns(between(problem, Operation::kAllgather, bytes), parameters) +
         best_ns(within(problem, Operation::kBcast, bytes), parameters) +
         copied * ranks_per_processor(problem) / parameters.copied_bytes_per_ns;
}

void hierarchical_allgather(Schedule& schedule, const Team& team, const Elements& mine, const Blocks& all) {
  const Parts parts{team};
  const AllgatherPart between_nodes = [&](Schedule& part, Member self, const Elements& own,
                                          const Blocks& nodes) {
    run_best(between(*team.problem, Operation::kAllgather, team.problem->bytes), *team.parameters, part, self,
             0, {.elements = own, .blocks = nodes});
  };
  tasuki::hierarchical_allgather(schedule, team.self.rank, *team.nodes, mine, all,
                                 parts.gather(team.problem->bytes / team.problem->size), between_nodes,
                                 parts.bcast(true));
}

/// Where the parts are calls, each rank hands on along its lane what its node has for it. It packs twice, and
/// unpacks.
double alltoall_by_lanes_ns(const Problem& problem, const Parameters& parameters) {
  const double copied = 3 * blocks(problem, problem.size) * ranks_per_processor(problem);
  return best_ns(within(problem, Operation::kAlltoall, problem.nodes * problem.bytes), parameters) +
         best_ns(between(problem, Operation::kAlltoall, problem.node_ranks_max * problem.bytes), parameters) +
         copied / parameters.copied_bytes_per_ns;
}

double hierarchical_alltoall_ns(const Problem& problem, const Parameters& parameters, Count) {
  if (problem.composed) return alltoall_by_lanes_ns(problem, parameters);
  const Count ranks = problem.node_ranks_max;
  const Count row = problem.size * problem.bytes;
  const double leaving = static_cast<double>(ranks * (problem.size - ranks) * problem.bytes);
  // A leader packs and unpacks the rows of all its ranks, and every rank packs and unpacks its own.
  const double copied = 2.0 * static_cast<double>((ranks + 1) * row);
  return best_ns(within(problem, Operation::kGather, row), parameters) +
         best_ns(within(problem, Operation::kScatter, row), parameters) +
         cost_ns({.steps = problem.nodes - 1.0,
                  .messages = problem.nodes * (problem.nodes - 1.0),
                  .bytes = leaving,
                  .total_bytes = problem.nodes * leaving},
                 between(problem, Operation::kAlltoall, 0), parameters) +
         copied / parameters.copied_bytes_per_ns;
}

void hierarchical_alltoall(Schedule& schedule, const Team& team, const Blocks& out, const Blocks& in) {
  const Parts parts{team};
  const Count row = team.problem->size * team.problem->bytes;
  tasuki::hierarchical_alltoall(schedule, team.self.rank, *team.nodes, out, in, parts.gather(row),
                                parts.scatter(row));
}

// Reduce-scatter and scans: as calls alone.

double hierarchical_reduce_scatter_ns(const Problem& problem, const Parameters& parameters, Count) {
  const double copied = static_cast<double>(problem.bytes) * ranks_per_processor(problem);
  const Count of_lane = problem.bytes / problem.node_ranks_max;
  return best_ns(within(problem, Operation::kReduceScatter, problem.bytes), parameters) +
         best_ns(between(problem, Operation::kReduceScatter, of_lane), parameters) +
         copied / parameters.copied_bytes_per_ns;
}

namespace {

double scan_in_hierarchy_ns(const Problem& problem, const Parameters& parameters) {
  const double reduced = static_cast<double>(problem.bytes) * ranks_per_processor(problem);
  return best_ns(within(problem, problem.operation, problem.bytes), parameters) +
         best_ns(between(problem, Operation::kExscan, problem.bytes), parameters) +
         best_ns(within(problem, Operation::kBcast, problem.bytes), parameters) +
         reduced / parameters.reduced_bytes_per_ns;
}

}  // namespace

double hierarchical_scan_ns(const Problem& problem, const Parameters& parameters, Count) {
  return scan_in_hierarchy_ns(problem, parameters);
}
double hierarchical_exscan_ns(const Problem& problem, const Parameters& parameters, Count) {
  return scan_in_hierarchy_ns(problem, parameters);
}

}  // namespace tasuki::composed
