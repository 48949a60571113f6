// Hierarchical collectives as the registry sees them: see coll/choice/composed.hpp. Each part is a problem of
// its own, whose algorithm is chosen like any other's; a price takes each node for the one with the most
// ranks.
#include <bit>
#include <initializer_list>
#include <span>

#include "coll/choice/composed.hpp"
#include "coll/choice/flag_limits.hpp"
#include "coll/choice/selector.hpp"
#include "coll/hierarchy/collectives.hpp"
#include "tuning/cost.hpp"

namespace tasuki::composed {
namespace {

using hierarchy::Among;
using hierarchy::Part;
using enum Among;
using enum Operation;

/// A part of `whole` among `size` ranks. Where the parts are collectives of their own, those within nodes
/// have what these have.
Problem problem_of_part(const Problem& whole, Among among, Operation operation, Count bytes, int size,
                        bool uniform) {
  Problem part{.operation = operation,
               .size = size,
               .bytes = bytes,
               .commutative = whole.commutative,
               .repeatable = whole.repeatable,
               .uniform = uniform,
               .several_jobs = whole.several_jobs,
               .processors = whole.processors,
               .distance = whole.distance};
  if (among == kNode) {
    part.node_ranks_max = size;
    part.blocking = part.node_segment = whole.composed;
    part.flags = whole.composed && shown_bytes(part) <= kInlineBytes;
  } else {
    part.nodes = size;
    // The lanes of a node run beside one another: each takes a share of its processors.
    if (among == kLanes) part.node_ranks_max = whole.node_ranks_max;
  }
  return part;
}

constexpr Count kSizeBytes = 8;  // of a number that ranks tell each other

/// As Problem::bytes says.
Count bytes_of(const Part& part, int size) {
  const auto& [elements, out, blocks, vector] = part.data;
  switch (part.operation) {
    case kBcast:
      return elements.bytes();
    case kGather:
    case kScatter:
      return elements.in_place ? blocks.bytes_of(0) : elements.bytes();
    case kAllgather:
      return blocks.elements_before(size) * blocks.type.size;
    case kAlltoall:
      return blocks.bytes_of(0);
    case kBarrier:
    case kGatherv:
    case kScatterv:
      return 0;
    default:
      return vector.count * vector.type.size;
  }
}

/// Writes the parts' steps into the schedule of the whole.
class PartsToWrite final : public hierarchy::Parts {
 public:
  PartsToWrite(Schedule& rank_schedule, const Team& team)
      : Parts(rank_schedule, *team.nodes, team.self.rank, team.root), team_(team) {}

 private:
  void add(const Part& part) override {
    hierarchy::among(schedule, ranks_of(part.among), part.buffers, [&](Member self) {
      const Problem problem =
          problem_of_part(*team_.problem, part.among, part.operation, bytes_of(part, self.size), self.size,
                          part.data.blocks.uniform());
      const std::span<const Algorithm> candidates = candidates_of(part.operation);
      const Selection best = team_.selector != nullptr ? team_.selector->choose_part(problem)
                                                       : choose(candidates, problem, *team_.parameters, {});
      candidates[static_cast<std::size_t>(best.place)].schedule(schedule,
                                                                {.self = self,
                                                                 .root = part.root,
                                                                 .segment_bytes = best.segment_bytes,
                                                                 .problem = &problem,
                                                                 .parameters = team_.parameters},
                                                                part.data);
    });
  }

  const Team& team_;
};

/// What is said of a part in coll/hierarchy/collectives.hpp.
struct PartPrice {
  Among among;
  Operation operation;
  Count bytes;
  bool uniform = true;
};

double sum_ns(const Problem& problem, const Parameters& parameters, std::initializer_list<PartPrice> parts) {
  double ns = 0;
  for (const auto& [among, operation, bytes, uniform] : parts) {
    const int size = among == kNode ? problem.node_ranks_max : problem.nodes;
    const Problem part = problem_of_part(problem, among, operation, bytes, size, uniform);
    ns += choose(candidates_of(operation), part, parameters, {}).predicted_ns;
  }
  return ns;
}

bool has_equal_nodes(const Problem& problem) {
  return problem.nodes * problem.node_ranks_max == problem.size;
}

/// Whether the parts can keep the order that is asked for, if one is: a node has a subtree of the tree of all
/// ranks. Those of a scan's trees have other ranks.
bool keeps_order(const Problem& problem) {
  if (problem.repeatable == Repeatable::kExact) return false;
  const bool in_one_order = problem.repeatable == Repeatable::kOrder;
  if (!problem.consecutive) return problem.commutative && !in_one_order;
  if (!in_one_order) return true;
  const bool scans = problem.operation == kScan || problem.operation == kExscan;
  return !scans && has_equal_nodes(problem) &&
         std::has_single_bit(static_cast<unsigned>(problem.node_ranks_max));
}

}  // namespace

bool has_hierarchy(const Problem& problem) {
  return problem.nodes > 1 && problem.nodes < problem.size && keeps_order(problem);
}
bool has_lanes(const Problem& problem) {
  return has_hierarchy(problem) && has_equal_nodes(problem);
}
bool may_call_parts(const Problem& problem) {
  return problem.composed && has_hierarchy(problem) && !problem.in_place;
}
bool may_call_lanes(const Problem& problem) {
  return problem.composed && has_lanes(problem);
}
bool may_call_lanes_in_order(const Problem& problem) {
  return may_call_lanes(problem) && problem.consecutive;
}

void write_hierarchical(hierarchy::Collective& collective, Schedule& schedule, const Team& team,
                        const CallData& data) {
  PartsToWrite parts(schedule, team);
  collective(parts, data);
  schedule.end_round();
}

double hierarchical_ns(const Problem& problem, const Parameters& parameters, Count) {
  const Count bytes = problem.bytes, ranks = problem.node_ranks_max, nodes = problem.nodes;
  const auto sum = [&](std::initializer_list<PartPrice> parts) { return sum_ns(problem, parameters, parts); };
  // Of what each rank copies or reduces itself.
  const auto bytes_per_rank = static_cast<double>(bytes) * ranks_per_processor(problem);
  const bool equal = has_equal_nodes(problem);
  switch (problem.operation) {
    case kBarrier:
      // A node's gather and its bcast wait for each other: together they are what a barrier is.
      return sum({{kNode, kBarrier, 0}, {kCarriers, kBarrier, 0}});
    case kBcast:
      return sum({{kCarriers, kBcast, bytes}, {kNode, kBcast, bytes}});
    case kReduce:
      return sum({{kNode, kReduce, bytes}, {kCarriers, kReduce, bytes}});
    case kAllreduce:
      return sum({{kNode, kReduce, bytes}, {kCarriers, kAllreduce, bytes}, {kNode, kBcast, bytes}});
    case kGather:
      return sum({{kNode, kGather, bytes}, {kCarriers, equal ? kGather : kGatherv, ranks * bytes}});
    case kScatter:
      return sum({{kCarriers, equal ? kScatter : kScatterv, ranks * bytes}, {kNode, kScatter, bytes}});
    case kAllgather: {
      // What is packed is unpacked too, unless it lies in its place.
      const double copied = problem.consecutive && problem.uniform ? 0 : bytes_per_rank;
      return sum({{kNode, problem.uniform ? kGather : kGatherv, bytes / problem.size},
                  {kCarriers, kAllgather, bytes, problem.uniform && equal},
                  {kNode, kBcast, bytes}}) +
             copied / parameters.copied_bytes_per_ns;
    }
    case kAlltoall:  // packed twice, and unpacked
      return sum({{kNode, kAlltoall, nodes * bytes}, {kLanes, kAlltoall, ranks * bytes}}) +
             cost_ns({.copied_bytes = 3.0 * static_cast<double>(problem.size * bytes)}, problem, parameters);
    case kGatherv:  // sizes, then blocks, of which only their owners know how long they are
      return sum({{kNode, kAllgather, ranks * kSizeBytes}, {kNode, kGatherv, 0}, {kCarriers, kGatherv, 0}});
    case kScatterv:
      return sum({{kNode, kAllgather, ranks * kSizeBytes}, {kCarriers, kScatterv, 0}, {kNode, kScatterv, 0}});
    case kAlltoallv:
      return sum({{kNode, kAlltoall, nodes * kSizeBytes}, {kNode, kAlltoallv, 0}, {kLanes, kAlltoallv, 0}});
    case kReduceScatter:
      return sum({{kNode, kReduceScatter, bytes}, {kLanes, kReduceScatter, bytes / ranks}}) +
             bytes_per_rank / parameters.copied_bytes_per_ns;
    default:  // scan, exscan
      return sum({{kNode, problem.operation, bytes}, {kCarriers, kExscan, bytes}, {kNode, kBcast, bytes}}) +
             bytes_per_rank / parameters.reduced_bytes_per_ns;
  }
}

double allreduce_by_lanes_ns(const Problem& problem, const Parameters& parameters, Count) {
  const Count slice = (problem.bytes + problem.node_ranks_max - 1) / problem.node_ranks_max;
  return sum_ns(problem, parameters,
                {{kNode, kReduceScatter, problem.bytes},
                 {kLanes, kAllreduce, slice},
                 {kNode, kAllgather, problem.bytes, false}});
}

}  // namespace tasuki::composed
