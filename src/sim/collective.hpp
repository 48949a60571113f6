// A collective that is asked for: the algorithm, the library's or a chosen one, and its schedules.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "coll/choice/registry.hpp"
#include "sim/request.hpp"

namespace tasuki::sim {

/// The host of each rank of a request: one host after the other is filled.
std::vector<int> blocks_of(const Request& request);

class Collective {
 public:
  /// Of a case {"operation", "algorithm", "bytes", "segment_bytes", "way", "root", "eager_bytes_max"}; throws
  /// what is wrong with it. "or_chosen": an algorithm that is not valid here gives way to the library's
  /// choice. `request` lives as long as this. `hosts`: of each rank; else all ranks of the request.
  Collective(const Request& request, const nlohmann::json& one);
  Collective(const Request& request, const std::vector<int>& hosts, const nlohmann::json& one);
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  /// What the simulator runs.
  const Job& job() const { return job_; }
  const Selection& selection() const { return selection_; }
  const char* algorithm_name() const;

 private:
  void write(int rank, Schedule& schedule) const;

  const Request& request_;
  Operation operation_;
  Count bytes_;
  int root_;
  Problem problem_;
  Selection selection_;
  NodeMap map_;
  Job job_;
};

/// The algorithms of the case's operation that are valid for these ranks, and go by messages.
std::vector<std::string> algorithm_names(const Request& request, const nlohmann::json& one);

}  // namespace tasuki::sim
