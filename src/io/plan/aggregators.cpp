// Which ranks aggregate: how many each node may give, how many it gives, and the order of all of them.
#include "io/plan/aggregators.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>

namespace tasuki {
namespace {

/// A node and how many of its ranks may, and do, aggregate.
struct Share {
  int node;
  int ranks_max;
  int ranks = 0;
};

std::string_view host_of(std::string_view name) {
  return name.substr(0, name.find(".node"));  // virtual nodes are HOST.node0, HOST.node1, ...
}

bool names_node(const ConfigItem& item, const std::string& name) {
  return item.name == "*" || item.name == name || item.name == host_of(name);
}

/// The nodes that give ranks, in the order in which they give them.
std::vector<Share> shares_of(const NodeMap& map, const std::vector<ConfigItem>& items,
                             const std::vector<std::string>& names) {
  std::vector<Share> shares;
  std::vector<bool> taken(static_cast<std::size_t>(map.nodes()));
  const std::string no_name;
  for (const ConfigItem& item : items) {
    for (int node = 0; node < map.nodes(); ++node) {
      const auto at = static_cast<std::size_t>(node);
      if (taken[at] || !names_node(item, at < names.size() ? names[at] : no_name)) continue;
      taken[at] = true;
      if (item.ranks_max > 0) shares.push_back({node, std::min(item.ranks_max, map.ranks_on(node))});
    }
  }
  return shares;
}

int total_of(const std::vector<Share>& shares) {
  int total = 0;
  for (const Share& share : shares) total += share.ranks_max;
  return total;
}

/// Deals `number` aggregators to the nodes, one at a time to each that may give one more.
void deal(std::vector<Share>* shares, int number) {
  while (number > 0) {
    for (Share& share : *shares) {
      if (number == 0 || share.ranks == share.ranks_max) continue;
      ++share.ranks;
      --number;
    }
  }
}

std::vector<int> in_order(const NodeMap& map, const std::vector<Share>& shares,
                          AggregatorPlacement placement) {
  std::vector<int> ranks;
  if (placement == AggregatorPlacement::kBlock) {
    for (const Share& share : shares) {
      const auto own = map.ranks_of(share.node).first(static_cast<std::size_t>(share.ranks));
      ranks.insert(ranks.end(), own.begin(), own.end());
    }
    return ranks;
  }
  for (int turn = 0; turn < map.largest(); ++turn) {
    for (const Share& share : shares) {
      if (turn < share.ranks) ranks.push_back(map.ranks_of(share.node)[static_cast<std::size_t>(turn)]);
    }
  }
  return ranks;
}

bool parse_limit(std::string_view text, int* limit) {
  if (text == "*") {
    *limit = INT_MAX;
    return true;
  }
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != text.npos) return false;
  *limit = std::stoi(std::string(text));
  return true;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

bool parse_config_list(const std::string& text, std::vector<ConfigItem>* items, std::string* error) {
  items->clear();
  std::string_view left = text;
  while (true) {
    const std::size_t comma = left.find(',');
    const std::string_view part = trimmed(left.substr(0, comma));
    const std::size_t colon = part.rfind(':');
    ConfigItem item{std::string(trimmed(part.substr(0, colon)))};
    const bool limited = colon != part.npos;
    if (item.name.empty() || (limited && !parse_limit(trimmed(part.substr(colon + 1)), &item.ranks_max))) {
      *error = "expected node:number, node:* or node, separated by commas, where a node may be *";
      return false;
    }
    items->push_back(std::move(item));
    if (comma == left.npos) return true;
    left.remove_prefix(comma + 1);
  }
}

std::vector<int> choose_aggregators(const NodeMap& map, const AggregatorRequest& request,
                                    std::string* unmet) {
  std::string ignored;
  std::string& problem = unmet != nullptr ? *unmet : ignored;
  const std::vector<ConfigItem> everywhere = {{"*", INT_MAX}};
  std::vector<ConfigItem> items = everywhere;
  std::string error;
  if (!request.config_list.empty() && !parse_config_list(request.config_list, &items, &error)) {
    problem = "cb_config_list = \"" + request.config_list + "\", " + error;
    items = everywhere;
  }
  std::vector<Share> shares = shares_of(map, items, request.node_names);
  if (shares.empty()) {
    problem = "cb_config_list = \"" + request.config_list + "\" names no node of the file's ranks";
    shares = shares_of(map, everywhere, {});
  }
  if (request.per_node > 0) {
    for (Share& share : shares) share.ranks_max = std::min(share.ranks_max, request.per_node);
  }
  const int possible = total_of(shares);
  const int number = request.number > 0 ? std::min(request.number, possible) : possible;
  if (request.number > possible) {
    problem = std::to_string(request.number) + " aggregators were asked for, but only " +
              std::to_string(possible) + (possible == 1 ? " rank" : " ranks") +
              (possible == map.size() ? " opened the file" : " may aggregate");
  }
  deal(&shares, number);
  return in_order(map, shares, request.placement);
}

}  // namespace tasuki
