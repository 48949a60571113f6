// In which order a rank issues the messages of an exchange between ranks and aggregators: all of one cycle
// start at once, so where every rank begins decides which nodes' links are shared.
//
// Pure functions of where the ranks are: no link, no communicator, so that a simulated machine can ask
// them too. The orders are those of Tsujita et al.'s placement-aware collective I/O, and one of our own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "placement/node_map.hpp"

namespace tasuki {

enum class ExchangeOrder : std::uint8_t {
  kRank,           // 0, 1, 2, ... at every rank
  kPairwise,       // from the own rank on, modulo the number of ranks
  kNodeShift,      // from the next node on, the own one last; a node's ranks ascend (algorithm 1)
  kNodeRankShift,  // the same, but a node's ranks from the own place within the node on (algorithm 2)
  kWeighted,       // by the amounts of the cycle: see exchange_order.cpp
};
inline constexpr int kExchangeOrders = 5;

/// "rank", "pairwise", "nd_shift", "nd_rank_shift", "weighted": as hints, tools and documents call them.
const char* order_name(ExchangeOrder order);
/// Returns false for what is none of these.
bool parse_order(const char* name, ExchangeOrder* order);

/// What the ranks have for the aggregators in one cycle, as all of them know it.
struct CycleAmounts {
  std::span<const int> aggregators;  // ranks, each once
  std::span<const Count> bytes;      // [rank * aggregators.size() + number of the aggregator]
  bool to_ranks = false;             // reading: the aggregators send

  Count of(int rank, std::size_t aggregator) const {
    return bytes[static_cast<std::size_t>(rank) * aggregators.size() + aggregator];
  }
};

/// All ranks, in the order in which `rank` issues its messages. `amounts` is looked at by kWeighted alone,
/// which puts those last that the rank exchanges nothing with. REQUIRES: 0 <= rank < map.size().
std::vector<int> exchange_order(ExchangeOrder order, const NodeMap& map, int rank,
                                const CycleAmounts& amounts);

}  // namespace tasuki
