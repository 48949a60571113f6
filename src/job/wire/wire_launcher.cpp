// The end of a rank, in good order and otherwise.
#include "job/wire/wire_launcher.hpp"

#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace tasuki::wire {
namespace {

// Launchers see the end of a rank soon, and end the others; what they say goes before what a rank guesses.
constexpr time_t kLauncherTimeSeconds = 1;

}  // namespace

/// With sessions a rank may come back; it then needs the launcher no more where all ranks share memory.
void WireLauncher::mark_finalized() {
  own_launcher_.take_leave();
  if (part_ != nullptr) part_->finalized.store(1, std::memory_order_release);
  if (!told_) wire_.finalize();
  told_ = true;
}

void WireLauncher::wait_to_be_ended() {
  timespec left{kLauncherTimeSeconds, 0};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
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
  }
  if (!told_) wire_.abort(code);
  _exit(code);
}

}  // namespace tasuki::wire
