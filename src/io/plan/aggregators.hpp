// Which ranks of a file aggregate. A pure function of where the ranks are and of the hints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "placement/node_map.hpp"

namespace tasuki {

/// In which order nodes give aggregators.
enum class AggregatorPlacement : std::uint8_t {
  kBlock,       // node after node: those of a node are neighbours (as ROMIO)
  kRoundRobin,  // one of each node in turn, whatever the placement of ranks
};

/// How many ranks aggregate where no hint says it is up to the caller: `number` or `per_node`.
struct AggregatorRequest {
  int number = 0;    // wanted in all; 0: as many as `per_node` gives
  int per_node = 0;  // at most; 0: no limit. REQUIRES: number, per_node or config_list is given
  AggregatorPlacement placement = AggregatorPlacement::kRoundRobin;
  std::string config_list{};              // cb_config_list; empty: nothing is asked for
  std::vector<std::string> node_names{};  // by node, as MPI_Get_processor_name has them; may be empty
};

/// The ranks that aggregate, in the order of their file domains: at least one, each once. Nodes give as many
/// as each other where they can, and their first ranks. `unmet` (or null) gets one line where something could
/// not be had as it was asked for; else it stays as it is.
std::vector<int> choose_aggregators(const NodeMap& map, const AggregatorRequest& request, std::string* unmet);

/// One item of a cb_config_list: "name", "name:limit", where the name may be "*", any node not named before,
/// and the limit "*", all of a node's ranks. Without a limit it is one rank. Nodes that no item names give
/// none.
struct ConfigItem {
  std::string name;
  int ranks_max = 1;
};

/// Returns false for what is no list, and says in `error` what was expected.
bool parse_config_list(const std::string& text, std::vector<ConfigItem>* items, std::string* error);

}  // namespace tasuki
