// Choices that were measured: cases of which a table says what is fastest there, since the formulas are wrong
// about it. They count as what a user wants, where the user wants nothing else.
//
// Pure data. `tasuki tune` writes them where it has seen the formulas choose badly (docs/tuning.md).
#pragma once

#include <span>

#include "base/types.hpp"
#include "base/variables/collective_operations.hpp"
#include "tuning/problem.hpp"

namespace tasuki {

/// For blocking collectives, which alone are measured, in the place that they were measured in.
struct MeasuredChoice {
  Operation operation = Operation::kBarrier;
  Count bytes_min = 0;  // as Problem::bytes; both ends belong to it
  Count bytes_max = 0;
  int ranks = 0;
  int nodes = 1;            // that the ranks are on, equally many on each, one node's after the other's
  int algorithm = 0;        // its number in base/variables/algorithm_table.hpp
  Count segment_bytes = 0;  // 0: the algorithm cuts nothing, or the cheapest
};

/// Whether the ranks are as those of a measurement: on one node they share memory; several have equally many
/// ranks, which follow one another, and all of which have this table.
inline bool is_measured_place(const Problem& problem) {
  if (problem.nodes == 1) return problem.node_segment;
  return problem.consecutive && problem.nodes * problem.node_ranks_max == problem.size &&
         !problem.several_jobs;
}

/// The first that holds for the problem, or null.
inline const MeasuredChoice* measured_for(const Problem& problem, std::span<const MeasuredChoice> choices) {
  if (choices.empty() || !problem.blocking || !is_measured_place(problem)) return nullptr;
  for (const MeasuredChoice& choice : choices) {
    if (choice.operation == problem.operation && choice.ranks == problem.size &&
        choice.nodes == problem.nodes && choice.bytes_min <= problem.bytes &&
        problem.bytes <= choice.bytes_max)
      return &choice;
  }
  return nullptr;
}

}  // namespace tasuki
