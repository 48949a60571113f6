// The worlds of a job and their ranks: what runs.
//
// A World is the ranks that share one MPI_COMM_WORLD. A job has the one of its command line, number 0, and
// one for each spawn (MPI 11.8), counted from 1. A program may spawn for ever, so worlds come and go.
//
// Worlds owns them; a World stays where it is until it is removed. One thread.
//
// Invariants:
//  1. A number is given once.
//  2. The `pid` of a rank that is here is that of an unreaped child of ours, and of its process group, until
//  the rank is reaped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "launch/mapping/placement.hpp"
#include "launch/mapping/processor_binding.hpp"
#include "launch/options/options.hpp"
#include "launch/program/program_search.hpp"
#include "launch/program/rank_environment.hpp"
#include "launch/stream/rank_stream.hpp"
#include "launch/world/connections.hpp"
#include "launch/world/world_segment.hpp"

namespace tasuki::launch {

struct Rank {
  std::size_t application = 0;
  bool here = true;  // on this host; else its number and end are told by an agent there
  int pid = -1;      // and process group; -1: not started, or its group is empty
  bool ended = false;
  int wait_status = 0;
  int group_place = -1;                // in the guard's list
  std::unique_ptr<RankStream> output;  // null: to a file
  std::unique_ptr<RankStream> error;

  bool running() const { return pid > 0 && !ended; }
};

/// Where a world is on its way to its end while others, which are not connected to it, go on (ending.hpp).
enum class Course { kRuns, kExamined, kEnding, kKilling };

struct World {
  Course course = Course::kRuns;
  std::int64_t deadline_ns = 0;  // of that; 0: none
  bool starting = false;         // some of its ranks, on other hosts, have not been started yet
  int number = 0;                // 0: the command line's; the others are counted from 1
  std::vector<Application> applications;
  std::vector<FoundProgram> programs;         // of each application
  std::vector<RankEnvironment> environments;  // of each application
  std::string note;                           // of Preparation, for the user; or empty
  Placement placement;
  BindingPlan bindings;  // of the ranks here, one after the other
  WorldSegment segment;
  std::vector<Rank> ranks;

  bool spawned() const { return number > 0; }
  std::uint64_t job() const { return segment.job_id(); }
  int size() const { return static_cast<int>(ranks.size()); }
  int ranks_here() const;
  int running() const;

  /// Whether one of its programs runs in checking mode (TASUKI_CHECK).
  bool checks() const;

  /// Whether all ranks have ended, and no process has their outputs open.
  bool over() const;

  /// "3", or of the second spawn "2.3": for file names and labels.
  std::string rank_name(int rank) const {
    return (spawned() ? std::to_string(number) + "." : "") + std::to_string(rank);
  }

  template <class Each>
  void for_each_stream(Each&& each) const {
    for (const Rank& rank : ranks) {
      for (RankStream* stream : {rank.output.get(), rank.error.get()}) {
        if (stream != nullptr) each(*stream);
      }
    }
  }
};

/// One rank of one world.
struct WorldRank {
  World* world = nullptr;
  int number = 0;

  Rank& rank() const { return world->ranks[static_cast<std::size_t>(number)]; }
  local::RankBlock& block() const { return world->segment.rank(number); }
};

class Worlds {
 public:
  /// The number that a world gets which is about to be made. One that cannot be made gives its number back.
  int next_number(bool spawned) const { return spawned && next_ == 0 ? 1 : next_; }

  /// Takes the world, which has that number.
  World& add(std::unique_ptr<World> world);
  void remove(const World& world);

  /// The command line's, if there is one. REQUIRES: there is a world.
  World& first() const { return *worlds_.front(); }
  std::size_t count() const { return worlds_.size(); }
  auto begin() const { return worlds_.begin(); }
  auto end() const { return worlds_.end(); }

  /// How many ranks run.
  int running() const;

  Connections& connections() { return connections_; }
  const Connections& connections() const { return connections_; }

  /// The job of the program that mpiexec serves (--serve-spawns), which is none of these worlds; 0: there is
  /// none, or it has not said so.
  std::uint64_t owner() const { return owner_; }
  void set_owner(std::uint64_t job) { owner_ = job; }

  /// Whether any rank has called MPI_Init, also one that has ended since.
  bool any_has_joined() const;

  /// Whether a program runs, or has run, in checking mode.
  bool checking() const { return checking_; }

  template <class Each>
  void for_each_rank(Each&& each) const {
    for (const auto& world : worlds_) {
      for (int number = 0; number < world->size(); ++number) each(WorldRank{world.get(), number});
    }
  }
  /// The world of that number; null: there is none.
  World* find(std::uint32_t number) const;

  template <class Each>
  void for_each_stream(Each&& each) const {
    for (const auto& world : worlds_) world->for_each_stream(each);
  }

 private:
  std::vector<std::unique_ptr<World>> worlds_;
  Connections connections_;
  std::uint64_t owner_ = 0;
  int next_ = 0;
  bool checking_ = false;
};

}  // namespace tasuki::launch
