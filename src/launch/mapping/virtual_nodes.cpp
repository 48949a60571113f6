// Dealing ranks to virtual nodes, and reading what their network is like.
#include "launch/mapping/virtual_nodes.hpp"

#include <cmath>
#include <cstdlib>
#include <span>

namespace tasuki::launch {
namespace {

struct Unit {
  const char* name;
  double factor;
};

/// A number and one of the units, as whole numbers of the first one. Returns false when it is none.
bool parse_amount(const std::string& word, std::span<const Unit> units, double most, std::int64_t* amount) {
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  if (end == word.c_str() || !std::isfinite(number) || number < 0) return false;
  for (const Unit& unit : units) {
    if (std::string(end) != unit.name) continue;
    const double rounded = std::round(number * unit.factor);
    if (rounded > most) return false;
    *amount = static_cast<std::int64_t>(rounded);
    return true;
  }
  return false;
}

}  // namespace

std::vector<int> plan_nodes(int ranks, int nodes, NodeOrder order) {
  std::vector<int> plan;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    plan.push_back(static_cast<int>(order == NodeOrder::kCyclic ? rank % nodes : rank * nodes / ranks));
  }
  return plan;
}

bool parse_latency(const std::string& word, std::int64_t* nanoseconds) {
  constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  return parse_amount(word, kUnits, 1e9, nanoseconds);
}

bool parse_bandwidth(const std::string& word, std::int64_t* mb_per_second) {
  constexpr Unit kUnits[] = {{"MB/s", 1}, {"GB/s", 1e3}, {"TB/s", 1e6}};
  if (word == "unlimited") {
    *mb_per_second = 0;
    return true;
  }
  std::int64_t amount = 0;
  if (!parse_amount(word, kUnits, 1e6, &amount) || amount < 1) return false;
  *mb_per_second = amount;
  return true;
}

}  // namespace tasuki::launch
