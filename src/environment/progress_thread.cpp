// The thread, and where it runs.
#include "environment/progress_thread.hpp"

#include <sched.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "base/process.hpp"
#include "job/launcher.hpp"
#include "node/node.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

bool move_to(const Processors& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors)
    if (processor < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(processor), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

/// Moves the calling thread to the processors that no rank of this node is bound to. It stays where it is
/// where there are none: the ranks are not bound, or leave none.
void leave_processors_of(const Node& node) {
  const Processors before = allowed_processors(0);
  cpu_set_t any;
  std::fill_n(reinterpret_cast<unsigned char*>(&any), sizeof any, 0xff);
  if (before.empty() || sched_setaffinity(0, sizeof any, &any) != 0) return;
  std::vector<Processors> taken{before};
  for (const int rank : node.ranks()) {
    if (const int process = node.process_id(rank); rank != node.rank() && process > 0)
      taken.push_back(allowed_processors(process));
  }
  const Processors left = processors_left(allowed_processors(0), taken);
  if (left.empty() || !move_to(left)) move_to(before);
}

}  // namespace

Processors processors_left(const Processors& all, const std::vector<Processors>& taken) {
  Processors left = all;
  for (const Processors& set : taken) {
    std::erase_if(left, [&](int processor) { return std::binary_search(set.begin(), set.end(), processor); });
  }
  return left;
}

bool ProgressThread::is_wanted(const Process& process) {
  const char* const wanted = std::getenv("TASUKI_PROGRESS_THREAD");
  if (wanted == nullptr || std::strcmp(wanted, "0") == 0) return false;
  if (std::strcmp(wanted, "1") == 0) return true;
  if (std::strcmp(wanted, "auto") == 0)
    return process.node.ranks_on_machine() < process.node.processors_available();
  process.launcher.abort(1,
                         std::string("TASUKI_PROGRESS_THREAD = \"") + wanted + "\", expected 0, 1 or auto");
}

ProgressThread::ProgressThread(Process& process, void (*at_begin)())
    : process_(process), at_begin_(at_begin) {
  // The user's handlers run in the user's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressThread::~ProgressThread() {
  {
    const std::lock_guard guard(process_.lock);
    over_ = true;
    process_.progress->wake();
  }
  thread_.join();
}

void ProgressThread::run() {
  leave_processors_of(process_.node);
  const std::lock_guard guard(process_.lock);
  at_begin_();
  process_.progress->help_until(over_);
}

}  // namespace tasuki
