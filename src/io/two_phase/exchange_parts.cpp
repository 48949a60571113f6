// ExchangeParts: see exchange_parts.hpp.
#include "io/two_phase/exchange_parts.hpp"

#include <algorithm>

namespace tasuki {

ExchangeParts::ExchangeParts(const AccessPlan& plan, const NodeMap& nodes, ExchangeOrder order, int rank)
    : plan_(plan), nodes_(nodes), kind_(order), rank_(rank), number_of_(plan.parts.size(), -1) {
  for (std::size_t number = 0; number < plan.aggregators.size(); ++number)
    number_of_[static_cast<std::size_t>(plan.aggregators[number])] = static_cast<int>(number);
  // Within a node there are no links to share: the amounts are not worth the time to find them.
  if (kind_ == ExchangeOrder::kWeighted && nodes.nodes() == 1) kind_ = ExchangeOrder::kNodeRankShift;
}

bool ExchangeParts::travels(int rank, int aggregator) const {
  const int to = aggregator_rank(aggregator);
  if (rank == to) return false;
  const RankPart& part = plan_.parts[static_cast<std::size_t>(rank)];
  return part.data == 0 || nodes_.node_of(rank) != nodes_.node_of(to);
}

std::vector<ExchangePart> ExchangeParts::own_parts(Count cycle) {
  std::vector<ExchangePart> parts;
  if (plan_.parts[static_cast<std::size_t>(rank_)].range.bytes() == 0) return parts;
  for (const int to : order(cycle)) {
    const int number = number_of_[static_cast<std::size_t>(to)];
    if (number < 0 || (to != rank_ && !travels(rank_, number))) continue;
    const PositionRange range = plan_.range_in(rank_, plan_.domains.window(number, cycle));
    if (range.bytes() > 0) parts.push_back({rank_, number, range, to != rank_});
  }
  return parts;
}

FileRange ExchangeParts::window(Count cycle) const {
  return plan_.own_number < 0 ? FileRange{} : plan_.domains.window(plan_.own_number, cycle);
}

std::vector<ExchangePart> ExchangeParts::window_parts(Count cycle) const {
  std::vector<ExchangePart> parts;
  const FileRange all = window(cycle);
  if (all.bytes() == 0) return parts;
  for (int rank = 0; rank < nodes_.size(); ++rank) {
    if (plan_.parts[static_cast<std::size_t>(rank)].map == nullptr) continue;
    const PositionRange range = plan_.range_in(rank, all);
    if (range.bytes() > 0) parts.push_back({rank, plan_.own_number, range, travels(rank, plan_.own_number)});
  }
  return parts;
}

const std::vector<int>& ExchangeParts::order(Count cycle) {
  const bool weighted = kind_ == ExchangeOrder::kWeighted;
  if (order_cycle_ == cycle || (order_cycle_ >= 0 && !weighted)) return order_;
  const std::vector<Count> bytes = weighted ? amounts(cycle) : std::vector<Count>();
  order_ = exchange_order(kind_, nodes_, rank_, {plan_.aggregators, bytes, !plan_.write});
  order_cycle_ = cycle;
  return order_;
}

std::vector<Count> ExchangeParts::amounts(Count cycle) const {
  const std::size_t width = plan_.aggregators.size();
  std::vector<Count> bytes(width * plan_.parts.size());
  for (std::size_t number = 0; number < width; ++number) {
    const FileRange window = plan_.domains.window(static_cast<int>(number), cycle);
    if (window.bytes() == 0) continue;
    for (int rank = 0; rank < nodes_.size(); ++rank) {
      if (!travels(rank, static_cast<int>(number))) continue;
      bytes[static_cast<std::size_t>(rank) * width + number] = amount(rank, window);
    }
  }
  return bytes;
}

/// What a rank has in the window, as all ranks know it alike: of an oversized view the part that it
/// would be if the data were spread evenly.
Count ExchangeParts::amount(int rank, const FileRange& window) const {
  const RankPart& part = plan_.parts[static_cast<std::size_t>(rank)];
  if (part.is_told) return plan_.range_in(rank, window).bytes();
  const Count common = std::min(part.hull.end, window.end) - std::max(part.hull.begin, window.begin);
  if (common <= 0) return 0;
  const double share = static_cast<double>(common) / static_cast<double>(part.hull.bytes());
  return static_cast<Count>(share * static_cast<double>(part.range.bytes()));
}

}  // namespace tasuki
