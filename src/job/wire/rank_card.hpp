// RankCard: what the ranks of a job that another launcher started tell one another first: where each of them
// is. And which of them make a node, worked out by all alike. Pure.
//
// Ranks are of one node if they can map the same memory, which is tried: every rank makes a memory file, the
// lowest of those that may share takes its own, and the others open that one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/system/process_state.hpp"

namespace tasuki::wire {

struct RankCard {
  std::uint64_t machine = 0;            // machine_number()
  std::uint64_t network_namespace = 0;  // of /proc/self/ns/net: whose interfaces it has
  std::uint32_t user = 0;
  ProcessIdentity process;
  std::int32_t memory_fd = -1;  // of the memory file that this rank has made
  std::uint64_t memory_id = 0;  // what it says of itself
  std::uint64_t job_id = 0;     // rank 0's is the job's
  int quota = 0;                // processors that the cgroup's quota allows; 0: any
  std::vector<int> processors;  // this process may run on
  std::string host;
};

std::string encode(const RankCard& card);
/// Returns false for what encode() never made.
bool decode(const std::string& text, RankCard* card);

/// For each rank the lowest rank whose memory it may be able to map, perhaps its own.
std::vector<int> possible_hosts(const std::vector<RankCard>& cards);

/// The node of each rank, numbered in the order of their lowest ranks. `hosts`: of possible_hosts();
/// `mapped[rank]`: whether that rank has mapped its host's memory. One that has not is a node of its own.
std::vector<int> nodes_of(const std::vector<int>& hosts, const std::vector<bool>& mapped);

/// How many processors the ranks of one node have together, at least 1.
int processors_of(const std::vector<RankCard>& cards, const std::vector<int>& ranks);

/// Whether all ranks are on one machine and have the same interfaces, so that the loopback one is enough.
bool share_interfaces(const std::vector<RankCard>& cards);

/// The names of the hosts, each once: "node1, node2".
std::string hosts_text(const std::vector<RankCard>& cards);

}  // namespace tasuki::wire
