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

/// For blocking collectives of ranks that share memory, which alone are measured.
struct MeasuredChoice {
  Operation operation = Operation::kBarrier;
  Count bytes_min = 0;  // as Problem::bytes; both ends belong to it
  Count bytes_max = 0;
  int ranks = 0;
  int algorithm = 0;        // its number in base/variables/algorithm_table.hpp
  Count segment_bytes = 0;  // 0: the algorithm cuts nothing, or the cheapest
};

/// The first that holds for the problem, or null.
inline const MeasuredChoice* measured_for(const Problem& problem, std::span<const MeasuredChoice> choices) {
  if (choices.empty() || !problem.blocking || !problem.node_segment || problem.nodes > 1) return nullptr;
  for (const MeasuredChoice& choice : choices) {
    if (choice.operation == problem.operation && choice.ranks == problem.size &&
        choice.bytes_min <= problem.bytes && problem.bytes <= choice.bytes_max)
      return &choice;
  }
  return nullptr;
}

}  // namespace tasuki
