// Up to which size each collective is quick: see coll/quick.hpp.
#include "coll/quick.hpp"

#include "base/algorithm_table.hpp"
#include "coll/collectives.hpp"
#include "coll/registry.hpp"

namespace tasuki {
namespace {

/// What the busiest rank does.
struct Work {
  double flags = 0;    // that it waits for
  double written = 0;  // bytes, into its cell
  double read = 0;     // bytes, from other cells
  double reduced = 0;  // bytes
};

Work work_of(const Problem& problem) {
  const double others = problem.size - 1;
  const auto bytes = static_cast<double>(problem.bytes);
  const double share = bytes / problem.size;
  switch (problem.operation) {
    case Operation::kBarrier:
      return {.flags = others};
    case Operation::kBcast:
      return {.flags = 1, .written = bytes, .read = bytes};
    case Operation::kScatter:
      return {.flags = 1, .written = others * bytes, .read = bytes};
    case Operation::kGather:
      return {.flags = others, .written = bytes, .read = others * bytes};
    case Operation::kAllgather:
      return {.flags = others, .written = share, .read = others * share};
    case Operation::kAlltoall:
      return {.flags = others, .written = others * bytes, .read = others * bytes};
    case Operation::kReduceScatter:
      return {.flags = others, .written = bytes, .read = others * share, .reduced = others * share};
    default:  // reduce, allreduce, scan, exscan
      return {.flags = others, .written = bytes, .read = others * bytes, .reduced = others * bytes};
  }
}

constexpr double kCallNs = 50;  // what a call costs besides

/// The problem of an operation of which each rank shows `shown` bytes.
Problem problem_of_shown(const Problem& any, Operation operation, Count shown) {
  Problem problem = any;
  problem.operation = operation;
  problem.bytes = operation == Operation::kBarrier ? 0 : shown;
  if (operation == Operation::kAllgather) problem.bytes = shown * any.size;
  if (operation == Operation::kAlltoall || operation == Operation::kScatter) problem.bytes = shown / any.size;
  return problem;
}

bool is_chosen(const Problem& problem, const Selector& selector, int flags) {
  const Wanted wanted = selector.wanted(problem.operation);
  if (wanted.algorithm >= 0) return wanted.algorithm == flags;
  Contest contest(problem, selector.parameters(), wanted);
  const int first = first_algorithm_of(problem.operation);
  const auto count = static_cast<int>(algorithms_of(problem.operation).size());
  for (int number = first; number < first + count; ++number) contest.enter(candidate_of(number));
  return contest.choice().algorithm == flags;
}

}  // namespace

double quick_ns(const Problem& problem, const Parameters& parameters, Count) {
  const Work work = work_of(problem);
  const double crowd = ranks_per_processor(problem);
  return kCallNs + parameters.flag_ns + (work.flags - 1) * parameters.flag_read_ns +
         (crowd - 1) * parameters.turn_ns +
         crowd * (work.written / parameters.copied_bytes_per_ns + work.read / parameters.pulled_bytes_per_ns +
                  work.reduced / parameters.reduced_bytes_per_ns);
}

void set_quick_limits(Comm& comm) {
  Problem any = problem_of(comm, Operation::kBarrier, 0, CollectiveForm::kBlocking);
  any.stage = true;
  any.quick = true;
  QuickLimits limits;
  for (std::size_t index = 0; index < kQuickOperations; ++index) {
    const int flags = kQuickAlgorithms[index];
    const Operation operation = kAlgorithmTable[flags].operation;
    limits[index] = kNeverQuick;
    // Nothing is as quick as one number, whatever the formulas say of no bytes at all.
    for (Count shown = sizeof(double); shown <= kInlineBytes; shown *= 2) {
      if (!is_chosen(problem_of_shown(any, operation, shown), comm.process.collectives->selector, flags))
        break;
      limits[index] = shown;
    }
  }
  comm.stage->set_quick_limits(limits);
}

}  // namespace tasuki
