// The guard: a process that ends the ranks when mpiexec dies without having been able to (SIGKILL, a crash).
//
// The kernel kills the programs that mpiexec started itself (PR_SET_PDEATHSIG), but not what those started: a
// script's own children. The guard holds one end of a pipe whose other end only mpiexec has, so it learns of
// that death at once, and kills the process groups in a list that both map, then all processes that have the
// launcher's mark in their environment: those that left the groups.
#pragma once

#include <atomic>
#include <string>

namespace tasuki::launch {

class Guard {
 public:
  /// Starts the guard. Without one (no process or memory to be had) the job runs all the same. `mark`, like
  /// "NAME=value", is in the environment of all that this mpiexec starts, and of nothing else. `folder`: goes
  /// with all that is in it when mpiexec is killed; empty: there is none.
  void start(const std::string& mark, const std::string& folder);

  /// Its process; -1: there is none.
  int pid() const { return pid_; }

  /// Dismisses it: the job is over.
  ~Guard();

  /// Puts a process group under guard and gives its place in the list, -1 when there is none left.
  int add(int group);
  /// The group is empty, so its number may become another's.
  void remove(int place);

 private:
  int pid_ = -1;
  int lifeline_ = -1;
  std::atomic<int>* groups_ = nullptr;  // writer: mpiexec; 0: a free place
};

}  // namespace tasuki::launch
