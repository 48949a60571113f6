// The price of a cost: see tuning/cost.hpp.
#include "tuning/cost.hpp"

namespace tasuki {

const MessageParameters& message_within(const Parameters& parameters, Distance distance) {
  switch (distance) {
    case Distance::kCache:
      return parameters.cache;
    case Distance::kPackage:
      return parameters.package;
    case Distance::kMachine:
      return parameters.machine;
    case Distance::kNetwork:
      break;
  }
  return parameters.network;
}

double cost_ns(const Cost& cost, const Problem& problem, const Parameters& parameters) {
  const MessageParameters& message =
      problem.nodes > 1 ? parameters.network : message_within(parameters, problem.distance);
  return cost_ns(cost, message, problem, parameters);
}

double cost_ns(const Cost& cost, const MessageParameters& message, const Problem& problem,
               const Parameters& parameters) {
  const double crowd = ranks_per_processor(problem);
  return cost.steps * (message.software_ns + message.latency_ns + (crowd - 1) * parameters.turn_ns) +
         cost.bytes / message.bytes_per_ns +
         cost.total_bytes / problem.nodes * crowd / parameters.node_bytes_per_ns +
         cost.reduced_bytes * crowd / parameters.reduced_bytes_per_ns;
}

}  // namespace tasuki
