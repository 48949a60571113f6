// Pipelines as the registry sees them: see coll/choice/composed.hpp.
#include <algorithm>

#include "coll/choice/composed.hpp"
#include "coll/hierarchy/subset.hpp"
#include "coll/pipeline/multi_direction.hpp"
#include "coll/pipeline/multi_ring.hpp"
#include "coll/pipeline/pipeline.hpp"
#include "coll/pipeline/throughput.hpp"
#include "tuning/cost.hpp"

namespace tasuki::composed {
namespace {

/// The longest segment of each of so many parts.
double segment_of(const Problem& problem, int parts, Count segment_bytes) {
  const double part = static_cast<double>(problem.bytes) / parts;
  return std::max(std::min(part, static_cast<double>(segment_bytes)),
                  part / static_cast<double>(kSegmentsMax));
}

/// `cost` counts messages of so many bytes. Those that are under way before the first one is through count
/// too: all the steps, not only the busiest rank's bytes. Several directions are filled at the same time
/// where no two ranks share a node.
double pipelined_ns(Cost cost, double segment, const Problem& problem, const Parameters& parameters,
                    int directions = 1) {
  if (cost.bytes > 0) {
    const double fills = has_own_node(problem) ? std::max(directions, 1) : 1;
    const double longer = std::max(1.0, 1 + (cost.steps * segment / cost.bytes - 1) / fills);
    cost.bytes *= longer;
    cost.reduced_bytes *= longer;
  }
  return cost_ns(cost, problem, parameters);
}

/// Whether each rank has links and a processor to itself. Virtual nodes may share processors, which are
/// busier then than any link.
bool has_links(const Problem& problem) {
  return has_own_node(problem) && ranks_per_processor(problem) <= 1;
}

/// Of transfers of so many bytes; to so many neighbours, to each of whom leads one link.
LinkTimes links_of(const Parameters& parameters, double bytes, int neighbours) {
  const MessageParameters& network = parameters.network;
  const bool is_long = bytes > parameters.network_long_bytes;
  const double rate = is_long ? network.bytes_per_ns : network.eager_bytes_per_ns;
  return {
      .software = std::max(network.software_ns + (is_long ? network.long_ns : 0), parameters.network_gap_ns),
      .latency = network.latency_ns,
      .bytes_per_time = rate,
      .node_bytes_per_time = std::min(parameters.network_node_bytes_per_ns, neighbours * rate),
      .reduced_bytes_per_time = parameters.reduced_bytes_per_ns,
      .start = parameters.plan_ns,
      .receive = network.software_ns};
}

/// Where the ranks of a node do not follow one another, the trees go through them node by node, so that few
/// edges lead from one node to another. `run(member, root)`.
template <class Run>
void in_node_order(Schedule& schedule, const Team& team, Run&& run) {
  const NodeMap* nodes = team.nodes;
  if (nodes == nullptr || nodes->is_consecutive()) return run(team.self, team.root);
  const int root = hierarchy::all_by_node(*nodes, team.root).self;
  hierarchy::among(schedule, hierarchy::all_by_node(*nodes, team.self.rank), {},
                   [&](Member member) { run(member, root); });
}

}  // namespace

Grid grid_for(const Problem& problem, int dimensions) {
  return grid_of(problem.size, problem.extents, dimensions);
}

namespace {

/// By the reference's formula on a network of links, else by steps and bytes.
template <auto links_time, auto cost>
double grid_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes, int dimensions) {
  const Grid grid = grid_for(problem, dimensions);
  const auto bytes = static_cast<double>(problem.bytes);
  const double segment = segment_of(problem, std::max(grid.dimensions, 1), segment_bytes);
  if (has_links(problem))
    return links_time(direction_hops(grid), grid.dimensions, bytes, segment,
                      links_of(parameters, segment, grid.dimensions));
  return pipelined_ns(cost(grid, bytes, segment), segment, problem, parameters, grid.dimensions);
}

}  // namespace

double bcast_grid_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes,
                     int dimensions) {
  return grid_ns<pipelined_bcast_time, bcast_multi_direction_cost>(problem, parameters, segment_bytes,
                                                                   dimensions);
}

double reduce_grid_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes,
                      int dimensions) {
  return grid_ns<pipelined_reduce_time, reduce_multi_direction_cost>(problem, parameters, segment_bytes,
                                                                     dimensions);
}

double allreduce_grid_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes,
                         int dimensions) {
  if (has_links(problem))
    return reduce_grid_ns(problem, parameters, segment_bytes, dimensions) +
           bcast_grid_ns(problem, parameters, segment_bytes, dimensions);
  const Grid grid = grid_for(problem, dimensions);
  const double segment = segment_of(problem, std::max(grid.dimensions, 1), segment_bytes);
  return pipelined_ns(allreduce_multi_direction_cost(grid, static_cast<double>(problem.bytes), segment),
                      segment, problem, parameters, grid.dimensions);
}

void bcast_grid(Schedule& schedule, const Team& team, const Elements& data, int dimensions) {
  const Grid grid = grid_for(*team.problem, dimensions);
  if (grid.dimensions > 1)
    return bcast_multi_direction(schedule, team.self.rank, team.root, grid, data, team.segment_bytes);
  in_node_order(schedule, team,
                [&](Member self, int root) { bcast_chain(schedule, self, root, data, team.segment_bytes); });
}

void reduce_grid(Schedule& schedule, const Team& team, const Reduction& data, int dimensions) {
  const Grid grid = grid_for(*team.problem, dimensions);
  if (grid.dimensions > 1)
    return reduce_multi_direction(schedule, team.self.rank, team.root, grid, data, team.segment_bytes);
  in_node_order(schedule, team,
                [&](Member self, int root) { reduce_chain(schedule, self, root, data, team.segment_bytes); });
}

void allreduce_grid(Schedule& schedule, const Team& team, const Reduction& data, int dimensions) {
  const Grid grid = grid_for(*team.problem, dimensions);
  if (grid.dimensions > 1)
    return allreduce_multi_direction(schedule, team.self.rank, grid, data, team.segment_bytes);
  in_node_order(schedule, team,
                [&](Member self, int) { allreduce_chain(schedule, self, data, team.segment_bytes); });
}

namespace {

template <Cost (*formula)(int size, double bytes, double segment_bytes)>
double tree_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes) {
  const double segment = segment_of(problem, 1, segment_bytes);
  return pipelined_ns(formula(problem.size, static_cast<double>(problem.bytes), segment), segment, problem,
                      parameters);
}

}  // namespace

double bcast_binary_tree_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes) {
  return tree_ns<bcast_binary_tree_cost>(problem, parameters, segment_bytes);
}
double reduce_binary_tree_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes) {
  return tree_ns<reduce_binary_tree_cost>(problem, parameters, segment_bytes);
}
double allreduce_binary_tree_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes) {
  return tree_ns<allreduce_binary_tree_cost>(problem, parameters, segment_bytes);
}

void bcast_binary_tree(Schedule& schedule, const Team& team, const Elements& data) {
  in_node_order(schedule, team, [&](Member self, int root) {
    tasuki::bcast_binary_tree(schedule, self, root, data, team.segment_bytes);
  });
}
void reduce_binary_tree(Schedule& schedule, const Team& team, const Reduction& data) {
  in_node_order(schedule, team, [&](Member self, int root) {
    tasuki::reduce_binary_tree(schedule, self, root, data, team.segment_bytes);
  });
}
void allreduce_binary_tree(Schedule& schedule, const Team& team, const Reduction& data) {
  in_node_order(schedule, team, [&](Member self, int) {
    tasuki::allreduce_binary_tree(schedule, self, data, team.segment_bytes);
  });
}

double allgather_multi_ring_ns(const Problem& problem, const Parameters& parameters, Count) {
  const Grid grid = grid_for(problem, kGridDimensionsMax);
  const auto bytes = static_cast<double>(problem.bytes);
  if (has_links(problem)) {
    const int directions = multi_ring_directions(grid);
    const double block = bytes / problem.size;
    const LinkTimes links = links_of(parameters, block / directions, multi_ring_neighbours(grid));
    return multi_ring_time(problem.size, grid.dimensions, directions, block, links);
  }
  return cost_ns(allgather_multi_ring_cost(grid, bytes), problem, parameters);
}

void allgather_multi_ring(Schedule& schedule, const Team& team, const Elements& mine, const Blocks& all) {
  tasuki::allgather_multi_ring(schedule, team.self.rank, grid_for(*team.problem, kGridDimensionsMax), mine,
                               all);
}

}  // namespace tasuki::composed
