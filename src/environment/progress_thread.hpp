// ProgressThread: a thread of a rank that makes progress while the program computes (TASUKI_PROGRESS_THREAD).
// It sleeps until something comes, as a rank that waits does, and leaves the work to a thread that waits
// itself. Where the ranks are bound to processors and others are left, it runs on those.
//
// It uses MPI as any other thread does, under the process lock. So calls lock from its beginning to its end.
#pragma once

#include <thread>
#include <vector>

#include "node/hardware.hpp"

namespace tasuki {

struct Process;

/// Those of `all` that are in none of the sets. All are ascending. Pure.
Processors processors_left(const Processors& all, const std::vector<Processors>& taken);

class ProgressThread {
 public:
  /// Whether TASUKI_PROGRESS_THREAD wants one: 1; or auto, and the ranks leave a processor of the machine
  /// idle. Ends the job where it says something else.
  static bool is_wanted(const Process& process);

  /// The thread calls `at_begin` once it holds the process lock. REQUIRES: calls hold that; this one does
  /// not.
  ProgressThread(Process& process, void (*at_begin)());
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

 private:
  void run();

  Process& process_;
  void (*const at_begin_)();
  bool over_ = false;  // the process lock guards it
  std::thread thread_;
};

}  // namespace tasuki
