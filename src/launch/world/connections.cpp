// A graph of jobs, searched whenever one has failed.
#include "launch/world/connections.hpp"

#include <algorithm>
#include <vector>

namespace tasuki::launch {

void Connections::spawned(std::uint64_t spawner, std::uint64_t child, int ranks) {
  jobs_[spawner];
  jobs_[child].spawner = spawner;
  jobs_[child].ranks = ranks;
}

void Connections::take(const ConnectionReport& report) {
  Job& job = jobs_[report.job];
  if (job.over) return;
  job.now[report.rank] = {report.connected.begin(), report.connected.end()};
  for (const std::uint64_t other : report.connected) {
    job.ever.insert(other);
    jobs_[other];
  }
}

void Connections::forget(std::uint64_t job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  found->second = {};
  found->second.over = true;
}

Connections::Says Connections::says(std::uint64_t one, std::uint64_t other) const {
  const Job& job = jobs_.at(one);
  const auto names_it = [other](const auto& rank) { return rank.second.contains(other); };
  if (std::any_of(job.now.begin(), job.now.end(), names_it)) return Says::kNow;
  return job.ever.contains(other) ? Says::kNoMore : Says::kNever;
}

bool Connections::is_spawning(std::uint64_t spawner, std::uint64_t child) const {
  const Job& job = jobs_.at(child);
  return job.spawner == spawner && static_cast<int>(job.now.size()) < job.ranks;
}

bool Connections::is_connected(std::uint64_t one, std::uint64_t other) const {
  if (jobs_.at(one).over || jobs_.at(other).over) return false;
  if (is_spawning(one, other) || is_spawning(other, one)) return true;
  const Says first = says(one, other);
  const Says second = says(other, one);
  if (first == Says::kNow) return second != Says::kNoMore;
  return first == Says::kNever && second == Says::kNow;
}

std::set<std::uint64_t> Connections::of(std::uint64_t job) const {
  std::set<std::uint64_t> found{job};
  std::vector<std::uint64_t> to_follow;
  if (jobs_.contains(job)) to_follow.push_back(job);
  while (!to_follow.empty()) {
    const std::uint64_t one = to_follow.back();
    to_follow.pop_back();
    for (const auto& [other, unused] : jobs_) {
      if (!found.contains(other) && is_connected(one, other)) {
        found.insert(other);
        to_follow.push_back(other);
      }
    }
  }
  return found;
}

}  // namespace tasuki::launch
