// Which ranks of a job go to which host.
#pragma once

#include <string>
#include <vector>

#include "job/spawn_request.hpp"
#include "launch/allocation/host_list.hpp"
#include "launch/options/options.hpp"
#include "launch/start/preparation.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

/// Whether the name is that of the machine that this process runs on. Asks the system for its names and
/// addresses, and nobody else.
bool is_this_machine(const std::string& name);

/// The hosts that a job's ranks, and those that they spawn, may be on: those of the options. None is named:
/// this machine alone.
class Family {
 public:
  explicit Family(const Options& options);

  /// By number: as the placements of the job's worlds have them.
  const std::vector<HostSlots>& hosts() const { return hosts_; }
  /// How many machines these are.
  int machines() const { return elsewhere_ + 1; }
  /// MPI_UNIVERSE_SIZE, where ranks may be on other hosts; else 0.
  int slots() const { return elsewhere_ > 0 ? slots_ : 0; }

  /// Deals the ranks of the command line to the hosts. Where all are on this machine the placement is not
  /// spread. Returns false, and why, when an option that was given cannot be had on several hosts.
  bool place_first(const Options& options, Placement* placement, Refusal* refusal) const;

  /// The same for ranks that are spawned, beside those of `worlds`. Returns false and one line in `error`
  /// when a host is asked for that is none of the job's.
  bool place_spawned(const SpawnRequest& request, const Worlds& worlds, Placement* placement,
                     std::string* error) const;

 private:
  Placement place(std::vector<int> of_rank) const;
  int find(const std::string& name) const;
  std::vector<int> plan_first(const Options& options) const;
  void plan_on(const std::vector<HostSlots>& named, int ranks, std::vector<int>* of_rank) const;
  bool plan_named(const std::string& list, int ranks, std::vector<int>* of_rank, std::string* error) const;
  void plan_free(int ranks, std::vector<int> busy, std::vector<int>* of_rank) const;

  std::vector<HostSlots> hosts_;
  std::vector<std::string> names_;
  NodeOrder order_;
  int here_ = -1;      // the number of the first that is this machine
  int elsewhere_ = 0;  // that are not
  int slots_ = 0;
};

}  // namespace tasuki::launch
