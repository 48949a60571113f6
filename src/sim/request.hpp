// What is asked of tasuki-simulate: the machine of a request's JSON document (main.cpp has an example).
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>

#include "sim/flow.hpp"
#include "sim/run.hpp"
#include "tuning/parameters.hpp"

namespace tasuki::sim {

struct Request {
  Topology topology;
  Costs costs;
  Parameters parameters;  // of the library's formulas
  int ranks = 1, ranks_per_host = 1;
  std::array<int, 3> extents = {};  // as a collective sees the network
};

/// Throws what is wrong.
Request request_of(const nlohmann::json& document);

}  // namespace tasuki::sim
