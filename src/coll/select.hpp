// Which algorithm a collective takes: the one whose cost formula predicts the shortest time. Pure, and a
// function only of what all ranks of the communicator know alike, so that all choose the same.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>

#include "base/config.hpp"
#include "coll/schedule.hpp"

namespace tasuki {

/// What the machine needs for the things that a Cost counts; nanoseconds. The values are those of one node of
/// middling speed.
struct CostParameters {
  double step_ns = 600;
  double byte_ns = 0.15;
  double total_byte_ns = 0.02;
  double reduced_byte_ns = 0.15;
  Count allgather_ring_block_bytes = 32 * 1024;  // from this block size on; see choose_allgather
  Config wanted = {};  // the algorithms that the user wants, wherever they are possible
};

inline double predicted_ns(const Cost& cost, const CostParameters& parameters) {
  return cost.steps * parameters.step_ns + cost.bytes * parameters.byte_ns +
         cost.total_bytes * parameters.total_byte_ns + cost.reduced_bytes * parameters.reduced_byte_ns;
}

/// The candidate that the user wants (a choice of Config), else the one that is predicted to be the fastest;
/// the first of equals.
template <class Algorithm>
Algorithm cheapest(const CostParameters& parameters, std::int64_t Config::*wanted,
                   std::initializer_list<std::pair<Algorithm, Cost>> candidates) {
  for (const auto& candidate : candidates) {
    if (parameters.wanted.*wanted == static_cast<std::int64_t>(candidate.first) + 1) return candidate.first;
  }
  Algorithm best = candidates.begin()->first;
  double best_ns = predicted_ns(candidates.begin()->second, parameters);
  for (const auto& [algorithm, cost] : candidates) {
    const double ns = predicted_ns(cost, parameters);
    if (ns < best_ns) {
      best = algorithm;
      best_ns = ns;
    }
  }
  return best;
}

}  // namespace tasuki
