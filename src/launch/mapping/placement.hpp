// Which host each rank of a world is on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace tasuki::launch {

struct Placement {
  std::vector<std::string> hosts;  // of the job, by number: their names
  std::vector<int> of_rank;        // empty: all ranks are here
  int here = 0;                    // the number of this host; -1: it is none of them

  bool spread() const { return !of_rank.empty(); }
  int host(int rank) const { return of_rank.empty() ? here : of_rank[static_cast<std::size_t>(rank)]; }
  bool has(int rank) const { return host(rank) == here; }
  /// Whether a rank is on that host.
  bool uses(int host) const { return std::find(of_rank.begin(), of_rank.end(), host) != of_rank.end(); }
  /// The nodes of the ranks: the hosts that have any, numbered in the order of their first ranks.
  std::vector<int> nodes() const {
    std::vector<int> order;
    std::vector<int> nodes;
    for (const int host : of_rank) {
      const auto found = std::find(order.begin(), order.end(), host);
      nodes.push_back(static_cast<int>(found - order.begin()));
      if (found == order.end()) order.push_back(host);
    }
    return nodes;
  }
};

}  // namespace tasuki::launch
