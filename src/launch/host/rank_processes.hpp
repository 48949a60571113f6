// RankProcesses: the processes of a job on this machine, from their start to the last one's end: the ranks'
// programs, what these started, and what these left behind.
//
// Each rank's program runs in a process group of its own. A rank that has ended stays unreaped until all of
// the job have ended, or its world is let go of: so its number, which names the group, cannot become another
// process's. A process that leaves its group becomes our child once it has lost its parent (orphans.hpp), and
// is known by launcher_id() in its environment; the guard (guard.hpp) ends all of them where mpiexec is
// killed.
//
// An agent keeps one of these on each other host; what it tells comes in by FarProcesses. One thread.
#pragma once

#include <string>
#include <vector>

#include "launch/host/guard.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

/// The same for the ranks on other hosts, as their agents tell it (hosts/hosts.hpp).
class FarProcesses {
 public:
  virtual std::vector<WorldRank> take_ended() = 0;
  virtual void signal(int signal, bool orphans_too) = 0;
  virtual void signal_world(const World& world, int signal) = 0;
  /// The ranks have ended: the agents end what they left behind, and go.
  virtual void settle() = 0;
  /// Whether all have gone, or are lost.
  virtual bool settled() const = 0;

 protected:
  ~FarProcesses() = default;
};

/// The children of this process that lead to other hosts (hosts/branches.hpp).
class Launchers {
 public:
  virtual bool is_launcher(int pid) const = 0;

 protected:
  ~Launchers() = default;
};

class RankProcesses {
 public:
  /// `worlds` outlives this object.
  explicit RankProcesses(Worlds& worlds);

  /// Adopts orphans from now on, and starts the guard, which removes `folder` too. Before the first rank
  /// starts.
  void begin(const std::string& folder = {});

  /// Stands in the environment of all that this mpiexec starts, as local::kLauncherIdName. Random.
  const std::string& launcher_id() const { return id_; }

  /// From now on the ranks of other hosts are told by `far`, which outlives this object.
  void add(FarProcesses& far) { far_ = &far; }
  /// These children are no rank's, and not reaped here. `launchers` outlives this object.
  void spare(const Launchers& launchers) { launchers_ = &launchers; }

  /// The rank runs as the process `pid`, in a group of that number.
  void started(const WorldRank& rank, int pid);

  /// Marks the ranks whose programs have ended since the last call, and returns them. Where there are none it
  /// reaps orphans that have ended.
  std::vector<WorldRank> take_ended();

  /// Sends `signal` to all groups, and if `orphans_too` to what has left its group and lost its parent.
  void signal(int signal, bool orphans_too) const;

  /// Sends `signal` to the groups of a world alone.
  void signal_world(const World& world, int signal) const;

  /// Sends `signal` to a world's groups, and waits for its ranks' end. What they started is not waited for.
  void end_world(World& world, int signal);

  /// Reaps all ranks. REQUIRES: none runs. No signal goes to an empty group afterwards.
  void reap();
  bool reaped() const { return reaped_; }

  /// Whether all agents on other hosts have ended what was left there. REQUIRES: reaped().
  bool far_settled() const { return far_ == nullptr || far_->settled(); }

  /// Whether processes that ranks started are left on this host. Forgets the groups that are empty. REQUIRES:
  /// reaped().
  bool any_left();

 private:
  std::vector<int> other_children() const;
  std::vector<int> orphans() const;
  void reap_orphans() const;

  Worlds& worlds_;
  FarProcesses* far_ = nullptr;
  const Launchers* launchers_ = nullptr;
  const std::string id_;
  const std::string mark_;  // the same with its name, as in an environment
  Guard guard_;
  bool reaped_ = false;
};

}  // namespace tasuki::launch
