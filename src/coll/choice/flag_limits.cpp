// Up to which size each collective is flag-based: see coll/choice/flag_limits.hpp.
#include "coll/choice/flag_limits.hpp"

#include <bit>

#include "base/variables/algorithm_table.hpp"
#include "coll/choice/registry.hpp"
#include "tuning/cost.hpp"

namespace tasuki {
namespace {

/// What the busiest rank does.
struct Work {
  bool from_all = false;  // a rank waits for all others
  double moved = 0;       // bytes, into its room on the node segment and from others
  double beside = 0;      // bytes that each of the others moves, where it moves fewer
  double travelled = 0;   // bytes, from other processors' caches to its own: once for all of its ranks
  double reduced = 0;     // bytes
  double ranks = 1;       // how many such ranks' work all do together
  bool in_order = false;  // each rank waits for all before it
  bool one_way = false;   // no rank waits for a rank that depends on it, so successive calls overlap
};

Work work_of(const Problem& problem) {
  const double others = problem.size - 1;
  const auto bytes = static_cast<double>(problem.bytes);
  const double all = problem.size;
  const double share = bytes / all;
  const double away = ranks_away(problem);
  const double here = all - away;
  switch (problem.operation) {
    case Operation::kBarrier:
      return {.from_all = true, .ranks = all};
    case Operation::kBcast:
      return {.moved = bytes, .travelled = away > 0 ? bytes : 0, .ranks = all, .one_way = true};
    case Operation::kScatter:
    case Operation::kScatterv:
      return {
          .moved = others * bytes, .beside = bytes, .travelled = away * bytes, .ranks = 2, .one_way = true};
    case Operation::kGather:
    case Operation::kGatherv:
      return {.from_all = true,
              .moved = others * bytes,
              .beside = bytes,
              .travelled = away * bytes,
              .ranks = 2,
              .one_way = true};
    case Operation::kReduce:
      return {.from_all = true,
              .moved = others * bytes,
              .beside = bytes,
              .travelled = away * bytes,
              .reduced = others * bytes,
              .ranks = 2,
              .one_way = true};
    case Operation::kAllgather:
      return {.from_all = true, .moved = share + others * share, .travelled = away * share, .ranks = all};
    case Operation::kAlltoall:
      return {.from_all = true, .moved = 2 * others * bytes, .travelled = here * away * bytes, .ranks = all};
    case Operation::kReduceScatter:
      return {.from_all = true,
              .moved = bytes + others * share,
              .travelled = here * away * share,
              .reduced = others * share,
              .ranks = all};
    case Operation::kAllreduce:
      // Ranks that share a processor find in its cache what another of them has combined.
      return {.from_all = true,
              .moved = 2 * bytes,
              .travelled = away * bytes,
              .reduced = others * bytes,
              .ranks = all};
    default:  // scan, exscan: half as much on an average
      return {.from_all = true,
              .moved = others * bytes,
              .travelled = away * bytes,
              .reduced = others * bytes,
              .ranks = (all + 1) / 2,
              .in_order = true,
              .one_way = true};
  }
}

/// The problem of an operation of which each rank shows `shown` bytes.
Problem problem_of_shown(const Problem& any, Operation operation, Count shown) {
  Problem problem = any;
  problem.operation = operation;
  problem.bytes = operation == Operation::kBarrier ? 0 : shown;
  if (operation == Operation::kAllgather) problem.bytes = shown * any.size;
  if (operation == Operation::kAlltoall || operation == Operation::kScatter ||
      operation == Operation::kScatterv)
    problem.bytes = shown / any.size;
  return problem;
}

/// What a rank may show at most. Where ranks share processors, the messages of gathers and scatters of blocks
/// that differ are quicker than pages, since a sender can run further ahead: measured.
Count bytes_max(const Problem& any, Operation operation) {
  if (ranks_per_processor(any) <= 1) return kInlineBytes;
  if (operation == Operation::kGatherv) return kLineBytes;
  return operation == Operation::kScatterv ? Count{128} : kInlineBytes;
}

/// The next size that is looked at: in octaves, and what a line holds, since more goes into one of few pages.
Count next_shown(Count shown) {
  if (shown < kLineBytes && 2 * shown > kLineBytes) return kLineBytes;
  return 2 * static_cast<Count>(std::bit_floor(static_cast<std::uint64_t>(shown)));
}

Selection choice_for(const Problem& problem, const Selector& selector) {
  const Wanted wanted = selector.wanted(problem);
  return choose(candidates_of(problem.operation), problem, selector.parameters_for(problem), wanted);
}

}  // namespace

Count shown_bytes(const Problem& problem) {
  switch (problem.operation) {
    case Operation::kAllgather:
      return problem.bytes / problem.size;
    case Operation::kAlltoall:
    case Operation::kScatter:
    case Operation::kScatterv:
      return problem.bytes * problem.size;
    default:
      return problem.bytes;
  }
}

namespace {

/// What a rank writes on the node segment: a scatter's root leaves its own block out.
Count room_bytes(const Problem& problem) {
  const bool scatters = problem.operation == Operation::kScatter || problem.operation == Operation::kScatterv;
  return scatters ? shown_bytes(problem) - problem.bytes : shown_bytes(problem);
}

}  // namespace

double flag_collective_ns(const Problem& problem, const Parameters& parameters, Count) {
  const Work work = work_of(problem);
  const double crowd = ranks_per_processor(problem);
  const double busiest_ns = (work.from_all ? flags_of_all_ns(problem, parameters) : 0) +
                            (work.moved + (crowd - 1) * work.beside) / parameters.cell_bytes_per_ns +
                            work.reduced / parameters.reduced_in_place_bytes_per_ns;
  const double load = std::max(1.0, work.ranks / processors_at_work(problem));
  const std::uint64_t depth = room_bytes(problem) <= kLineBytes ? kLines : kPages;
  // Where the data goes one way, a member waits only for room, until half of it is free.
  const double rounds = rounds_of_turns(work.in_order ? crowd : 1);
  const double waits = work.one_way ? 2 * rounds / static_cast<double>(depth) : 1;
  return crowd * parameters.call_ns + load * busiest_ns + travel_ns(work.travelled, parameters) +
         waits * (parameters.flag_ns + turns_ns(problem, parameters));
}

FlagLimits flag_limits_for(const Problem& any, const Selector& selector) {
  FlagLimits limits;
  for (std::size_t index = 0; index < kFlagOperations; ++index) {
    const int flags = kFlagAlgorithms[index];
    const Operation operation = kAlgorithmTable[flags].operation;
    limits[index] = kNeverByFlags;
    // Nothing is as flag-based as one number, whatever the formulas say of no bytes at all.
    for (Count shown = sizeof(double); shown <= bytes_max(any, operation); shown = next_shown(shown)) {
      // Where the user wants an algorithm that is not possible, the cheapest runs; where flags are wanted,
      // they do.
      if (choice_for(problem_of_shown(any, operation, shown), selector).algorithm != flags) break;
      limits[index] = shown;
    }
  }
  return limits;
}

void explain_flag_collective(const Problem& any, FlagOperation operation, Count shown, Selector& selector) {
  const int flags = kFlagAlgorithms[static_cast<std::size_t>(operation)];
  const Problem problem = problem_of_shown(any, kAlgorithmTable[flags].operation, shown);
  selector.explain(problem, choice_for(problem, selector));
}

}  // namespace tasuki
