// Which host each rank of a world is on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tasuki::launch {

struct Placement {
  std::vector<std::string> hosts;  // their names, by number
  std::vector<int> of_rank;        // empty: all ranks are here
  int here = 0;                    // the number of this host; -1: none of the ranks is here

  bool spread() const { return !of_rank.empty(); }
  int host(int rank) const { return of_rank.empty() ? here : of_rank[static_cast<std::size_t>(rank)]; }
  bool has(int rank) const { return host(rank) == here; }
};

}  // namespace tasuki::launch
