// Sorting ranks by their nodes.
#include "placement/node_map.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "job/directory.hpp"
#include "link/link.hpp"

namespace tasuki {

NodeMap::NodeMap(std::span<const int> numbers, int self) : self_(self), ranks_(numbers.size()) {
  std::map<int, int> node_of_number;
  std::vector<int> counts;
  places_.reserve(numbers.size());
  for (const int number : numbers) {
    const int node = node_of_number.try_emplace(number, static_cast<int>(counts.size())).first->second;
    if (node == static_cast<int>(counts.size())) counts.push_back(0);
    places_.push_back({node, counts[static_cast<std::size_t>(node)]++});
  }
  first_.reserve(counts.size() + 1);
  first_.push_back(0);
  for (const int count : counts) first_.push_back(first_.back() + count);
  for (std::size_t rank = 0; rank < numbers.size(); ++rank) {
    const Place& place = places_[rank];
    const auto at = static_cast<std::size_t>(first_[static_cast<std::size_t>(place.node)] + place.index);
    ranks_[at] = static_cast<int>(rank);
  }
  consecutive_ = std::is_sorted(ranks_.begin(), ranks_.end());
  const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
  smallest_ = *fewest;
  largest_ = *most;
}

std::vector<int> NodeMap::leaders() const {
  std::vector<int> leaders;
  leaders.reserve(static_cast<std::size_t>(nodes()));
  for (int node = 0; node < nodes(); ++node) leaders.push_back(leader_of(node));
  return leaders;
}

namespace {

NodeMap make_node_map(const Comm& comm) {
  Process& process = comm.process;
  const std::vector<int>& endpoints = comm.group->endpoints;
  const bool several_jobs =
      std::any_of(endpoints.begin(), endpoints.end(), [&](int endpoint) { return endpoint >= process.size; });
  std::vector<int> numbers;
  numbers.reserve(endpoints.size());
  std::map<std::uint64_t, int> jobs;
  for (const int endpoint : endpoints) {
    if (several_jobs) {
      const std::uint64_t job = process.link->name(endpoint).job;
      numbers.push_back(jobs.try_emplace(job, static_cast<int>(jobs.size())).first->second);
    } else {
      numbers.push_back(process.directory.node(endpoint));
    }
  }
  return {numbers, comm.rank};
}

}  // namespace

const NodeMap& node_map(Comm& comm) {
  if (const NodeMap* known = comm.slots.get(kNodeMapSlot)) return *known;
  comm.slots.set(kNodeMapSlot, std::make_shared<const NodeMap>(make_node_map(comm)));
  return *comm.slots.get(kNodeMapSlot);
}

std::uint64_t node_number(Process& process) {
  const Directory& directory = process.directory;
  const std::uint64_t machine = directory.machine();
  if (directory.nodes() == 1) return machine;
  const auto node = static_cast<std::uint64_t>(directory.node(process.rank)) + 1;
  return (machine ^ directory.job_id()) + node * 0x9e3779b97f4a7c15u;
}

}  // namespace tasuki
