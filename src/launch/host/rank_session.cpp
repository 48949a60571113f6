// clone, setsid, and a futex by which caller and helper take turns.
#include "launch/host/rank_session.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "launch/host/orphans.hpp"

namespace tasuki::launch {
namespace {

constexpr std::size_t kHelperStackBytes = 128 << 10;
constexpr timespec kLookInterval = {0, 100'000'000};  // how often the caller looks whether the helper lives

enum Turn : std::uint32_t { kHelpers, kCallers };

void wait_for_end(int pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

struct RankSession::Desk {
  // Written by the one whose turn it is, after all else (release); read by the other (acquire).
  std::atomic<std::uint32_t> turn{kHelpers};
  const Start* start = nullptr;
  Started started;
  pid_t launcher = 0;

  void hand_over(Turn to) {
    turn.store(to, std::memory_order_release);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  bool is_turn_of(Turn whose) const { return turn.load(std::memory_order_acquire) == whose; }
  void sleep_while(Turn whose, const timespec* limit) {
    syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, whose, limit, nullptr, 0);
  }
};

RankSession::RankSession() : desk_(std::make_unique<Desk>()) {}

/// The helper's whole life. It shares the caller's thread-local memory, too: between its turns it may only
/// sleep.
int RankSession::serve(void* argument) {
  Desk& desk = *static_cast<Desk*>(argument);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != desk.launcher) _exit(0);  // it died before the line above could hold
  prctl(PR_SET_NAME, kSessionName);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  setsid();
  for (;;) {
    desk.started = start_program(*desk.start, desk.launcher);
    desk.hand_over(kCallers);
    while (!desk.is_turn_of(kHelpers)) desk.sleep_while(kCallers, nullptr);
  }
}

/// Makes the helper, whose turn it is.
void RankSession::begin() {
  begun_ = true;
  void* const memory = mmap(nullptr, kHelperStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_ = static_cast<std::byte*>(memory);
  desk_->launcher = getpid();
  helper_ =
      clone(&RankSession::serve, stack_ + kHelperStackBytes, CLONE_VM | CLONE_FILES | SIGCHLD, desk_.get());
}

/// Waits for the caller's turn. Returns false where the helper has ended meanwhile.
bool RankSession::helper_answers() {
  while (!desk_->is_turn_of(kCallers)) {
    desk_->sleep_while(kHelpers, &kLookInterval);
    if (waitpid(helper_, nullptr, WNOHANG) != helper_) continue;
    helper_ = -1;
    return false;
  }
  return true;
}

Started RankSession::start(const Start& start) {
  desk_->start = &start;
  if (!begun_) {
    begin();
  } else if (helper_ > 0) {
    desk_->hand_over(kHelpers);
  }
  const bool has_answered = helper_ > 0 && helper_answers();
  const bool good = has_answered && desk_->started.pid > 0;  // else the helper may not make processes
  Started started = good ? desk_->started : start_program(start, getpid());
  if (started.error == 0) return started;
  if (started.pid > 0) wait_for_end(started.pid);
  started.pid = -1;
  return started;
}

RankSession::~RankSession() {
  if (helper_ > 0) {
    kill(helper_, SIGKILL);
    wait_for_end(helper_);
  }
  if (stack_ != nullptr) munmap(stack_, kHelperStackBytes);
}

}  // namespace tasuki::launch
