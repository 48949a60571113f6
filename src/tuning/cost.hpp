// What an algorithm costs, counted in things that a machine takes time for; and that time.
//
// Pure.
#pragma once

#include "tuning/parameters.hpp"
#include "tuning/problem.hpp"

namespace tasuki {

/// The unit of time of `steps` is one message, where a rank sends at most one message at a time and receives
/// at most one at a time, and can do both at once.
struct Cost {
  double steps = 0;          // on the critical path
  double bytes = 0;          // through the busiest rank: sent or received, the larger of both
  double total_bytes = 0;    // sent by all ranks together: what the memory of one node has to bear
  double reduced_bytes = 0;  // by the busiest rank
};

/// The parameters of messages between two ranks of a node that are so far apart, and of those between nodes.
const MessageParameters& message_within(const Parameters& parameters, Distance distance);

/// The time of a schedule of messages whose costs are known: all on one node, or, where the ranks are on
/// several, as if all messages went between nodes.
double cost_ns(const Cost& cost, const Problem& problem, const Parameters& parameters);

/// The same for messages of one kind: for algorithms that have one part within nodes and one between them.
double cost_ns(const Cost& cost, const MessageParameters& message, const Problem& problem,
               const Parameters& parameters);

}  // namespace tasuki
