// The end of a rank, in good order and otherwise.
#include "job/wire/wire_launcher.hpp"

#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tasuki::wire {
namespace {

// Launchers see the end of a rank soon, and end the others; what they say goes before what a rank guesses.
constexpr time_t kLauncherTimeSeconds = 1;
// Hydra reads what ranks say and what they ask of it in no order, and an abort ends it with lines unread.
constexpr long kLineTimeNs = 100'000'000;

void pause_for(timespec left) {
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace

/// A rank that has used sessions only may come back, and call MPI_Init, which meets over the wire where ranks
/// do not share memory: then the launcher is told at the end of the process. After MPI_Finalize it is told at
/// once, since a process may end by _exit().
void WireLauncher::mark_finalized() {
  own_launcher_.take_leave();
  if (part_ != nullptr) part_->finalized.store(1, std::memory_order_release);
  nodes_.say(false);
  if (in_world_ || !over_wire_) return tell();
  if (std::exchange(at_exit_, true)) return;
  owner_ = getpid();
  on_exit(
      [](int, void* of) {
        auto* const launcher = static_cast<WireLauncher*>(of);
        const bool finalized = launcher->part_->finalized.load(std::memory_order_acquire) != 0;
        if (finalized && launcher->owner_ == getpid()) launcher->tell();
      },
      this);
}

void WireLauncher::tell() {
  if (!told_.exchange(true, std::memory_order_relaxed)) wire_.finalize();
}

void WireLauncher::wait_to_be_ended() {
  pause_for({kLauncherTimeSeconds, 0});
}

void WireLauncher::abort(int exit_code, const std::string& message) {
  if (peers_.first_exiting() >= 0) wait_to_be_ended();  // whose end may well be why this one fails
  if (ftrylockfile(stdout) == 0) {
    fflush_unlocked(stdout);
    funlockfile(stdout);
  }
  const int code = (exit_code & 0xff) != 0 ? exit_code & 0xff : 1;
  if (!message.empty()) {
    std::fprintf(stderr, "tasuki: rank %d of %d: %s\n", wire_.place().rank, wire_.place().size,
                 message.c_str());
    pause_for({0, kLineTimeNs});
  }
  if (!told()) wire_.abort(code);
  _exit(code);
}

}  // namespace tasuki::wire
