// World: the ranks that share one MPI_COMM_WORLD. A job has the one of its command line, and one for each
// spawn (MPI 11.8).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/mapping/processor_binding.hpp"
#include "launch/options/options.hpp"
#include "launch/program/program_search.hpp"
#include "launch/program/rank_environment.hpp"
#include "launch/stream/rank_stream.hpp"
#include "launch/world/world_segment.hpp"

namespace tasuki::launch {

struct Rank {
  std::size_t application = 0;
  int pid = -1;  // and process group; -1: not started
  bool ended = false;
  int wait_status = 0;
  int group_place = -1;                // in the guard's list
  std::unique_ptr<RankStream> output;  // null: to a file
  std::unique_ptr<RankStream> error;

  bool running() const { return pid > 0 && !ended; }
};

struct World {
  int number = 0;  // 0: the command line's; the others are counted from 1
  std::vector<Application> applications;
  std::vector<FoundProgram> programs;         // of each application
  std::vector<RankEnvironment> environments;  // of each application
  BindingPlan bindings;
  WorldSegment segment;
  std::vector<Rank> ranks;

  bool spawned() const { return number > 0; }
  int size() const { return static_cast<int>(ranks.size()); }

  /// "3", or of the second spawn "2.3": for file names and labels.
  std::string rank_name(int rank) const {
    return (spawned() ? std::to_string(number) + "." : "") + std::to_string(rank);
  }

  template <class Each>
  void for_each_stream(Each&& each) {
    for (Rank& rank : ranks) {
      for (RankStream* stream : {rank.output.get(), rank.error.get()}) {
        if (stream != nullptr) each(*stream);
      }
    }
  }
};

}  // namespace tasuki::launch
