// Virtual nodes (--nodes): which rank of a job is on which, and what its network is like.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tasuki::launch {

/// How ranks are dealt to virtual nodes: one node after the other is filled, or each gets one in turn.
enum class NodeOrder { kBlock, kCyclic };

/// The node of each rank, 0 .. nodes - 1; no two nodes differ by more than one rank.
/// REQUIRES: 1 <= nodes <= ranks.
std::vector<int> plan_nodes(int ranks, int nodes, NodeOrder order);

/// "1.5us" as nanoseconds: a number of ns, us, ms or s, up to one second. Returns false when it is none.
bool parse_latency(const std::string& word, std::int64_t* nanoseconds);

/// "5GB/s" as 10^6 bytes a second: a number of MB/s, GB/s or TB/s, from 1 MB/s to 1 TB/s, or "unlimited" (0).
/// Returns false when it is none.
bool parse_bandwidth(const std::string& word, std::int64_t* mb_per_second);

}  // namespace tasuki::launch
