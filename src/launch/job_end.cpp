// How a job ends: ranks that ended, signals, and what is done to the others.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "launch/job.hpp"
#include "launch/signals.hpp"
#include "launch/text.hpp"

namespace tasuki::launch {
namespace {

using local::Life;

// After SIGKILL: a rank that has not ended by then hangs in the kernel; what ranks left behind is not our
// child, and its end is not seen at all where the container's first process does not reap.
constexpr std::int64_t kRankGiveUpNs = 5'000'000'000;
constexpr std::int64_t kLeftoverGiveUpNs = 100'000'000;

constexpr std::int64_t kGraceNs = 300'000'000;  // between SIGTERM and SIGKILL

/// waitid's answer in the form of waitpid's.
int as_wait_status(const siginfo_t& info) {
  return info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
}

}  // namespace

void Job::ready() {
  for (int signal = 0; (signal = next_signal(signal_fd_)) != 0;) {
    if (signal == SIGCHLD) {
      look_for_ended();
    } else {
      on_signal(signal);
    }
  }
}

void Job::look_for_ended() {
  std::vector<int> ended;
  for (std::size_t index = 0; index < ranks_.size(); ++index) {
    Rank& rank = ranks_[index];
    if (rank.pid < 0 || rank.ended) continue;
    siginfo_t info{};
    const int got = waitid(P_PID, static_cast<id_t>(rank.pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if (got != 0 || info.si_pid != rank.pid) continue;
    rank.ended = true;
    rank.wait_status = as_wait_status(info);
    ended.push_back(static_cast<int>(index));
  }
  if (phase_ == Phase::kRunning && !ended.empty()) judge_ended(ended);
}

/// Of several ranks that ended at once the cause is the one that asked for the end, then one that was killed.
void Job::judge_ended(const std::vector<int>& ended) {
  std::vector<RankEnd> failed;
  for (const int rank : ended) {
    if (segment_.rank(rank).life.load(std::memory_order_acquire) == Life::kStarted) {
      segment_.header().absent_rank.store(rank + 1, std::memory_order_seq_cst);
    }
    const RankEnd end = end_of(rank);
    const Verdict verdict = judge(end);
    if (verdict == Verdict::kFailed) failed.push_back(end);
    if (verdict == Verdict::kReturned && status_ == 0) status_ = exit_status(end);
  }
  const int aborted = segment_.header().first_abort.load(std::memory_order_acquire);
  if (aborted > 0 && aborted <= static_cast<int>(ranks_.size())) {
    fail(end_of(aborted - 1));
  } else if (!failed.empty()) {
    const auto killed = std::find_if(failed.begin(), failed.end(),
                                     [](const RankEnd& end) { return WIFSIGNALED(end.wait_status); });
    fail(killed != failed.end() ? *killed : failed.front());
  }
}

RankEnd Job::end_of(int rank) {
  local::RankBlock& block = segment_.rank(rank);
  const Rank& ended = ranks_[static_cast<std::size_t>(rank)];
  RankEnd end;
  end.rank = rank;
  const int claimed = block.claimed_pid.load(std::memory_order_seq_cst);
  end.life = block.life.load(std::memory_order_acquire);
  if (end.life == Life::kStarted && claimed != 0) end.life = Life::kJoined;
  end.pid = end.life == Life::kAborting ? claimed : ended.pid;
  end.wait_status = ended.wait_status;
  if (end.life == Life::kAborting) {
    end.abort_code = block.abort_code.load(std::memory_order_relaxed);
    end.abort_message.assign(block.abort_message, strnlen(block.abort_message, local::kAbortMessageBytes));
  }
  end.others_joined = any_other_joined(rank);
  return end;
}

bool Job::any_other_joined(int rank) {
  for (int other = 0; other < static_cast<int>(ranks_.size()); ++other) {
    if (other != rank && segment_.rank(other).claimed_pid.load(std::memory_order_seq_cst) != 0) return true;
  }
  return false;
}

void Job::fail(const RankEnd& end) {
  if (status_ == 0) status_ = exit_status(end);
  Rank& rank = ranks_[static_cast<std::size_t>(end.rank)];
  for (RankStream* stream : {rank.output.get(), rank.error.get()}) {
    if (stream != nullptr) stream->take_available();  // its last words come before ours
  }
  const bool reader_gone =
      output_.error() == EPIPE && WIFSIGNALED(end.wait_status) &&
      WTERMSIG(end.wait_status) == SIGPIPE;  // as in "mpiexec … | head": no failure to tell of
  if (!reader_gone) say(failure_message(end, host_, running()));
  begin_ending();
}

void Job::on_signal(int signal) {
  switch (signal) {
    case SIGTSTP:
      return suspend();
    case SIGCONT:
      signal_groups(SIGCONT);
      return terminal_.resume();
    case SIGUSR1:
    case SIGUSR2:
      return signal_groups(signal);
    default:
      break;
  }
  hurry_ = true;
  if (phase_ != Phase::kRunning) return kill_ranks();
  if (status_ == 0) status_ = 128 + signal;
  const int left = running();
  say(format("mpiexec: got %s; ending %d rank%s", signal_text(signal).c_str(), left, left == 1 ? "" : "s"));
  begin_ending();
}

void Job::suspend() {
  signal_groups(SIGTSTP);
  raise(SIGSTOP);  // until somebody sends SIGCONT, which arrives as a signal too
}

void Job::begin_ending() {
  phase_ = Phase::kEnding;
  deadline_ns_ = now_ns() + kGraceNs;
  signal_groups(SIGTERM);
  signal_groups(SIGCONT);  // one that is stopped could not end
}

void Job::kill_ranks() {
  phase_ = Phase::kKilling;
  deadline_ns_ = now_ns() + (running() > 0 ? kRankGiveUpNs : kLeftoverGiveUpNs);
  signal_groups(SIGKILL);
}

/// Signals all that a rank's program started, too. Before reap_all() no group's number can be another's.
void Job::signal_groups(int signal) {
  for (const Rank& rank : ranks_) {
    if (rank.pid > 0) kill(-rank.pid, signal);
  }
}

/// Whether processes of the ranks are left; forgets the groups that are empty. REQUIRES: reap_all().
bool Job::groups_left() {
  bool left = false;
  for (std::size_t index = 0; index < ranks_.size(); ++index) {
    Rank& rank = ranks_[index];
    if (rank.pid <= 0) continue;
    if (kill(-rank.pid, 0) == 0 || errno == EPERM) {
      left = true;
    } else {
      rank.pid = -1;
      segment_.rank(static_cast<int>(index)).started_pid.store(0, std::memory_order_release);
    }
  }
  return left;
}

void Job::reap_all() {
  for (const Rank& rank : ranks_) {
    while (rank.pid > 0 && waitpid(rank.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  reaped_ = true;
}

int Job::running() const {
  return static_cast<int>(std::count_if(ranks_.begin(), ranks_.end(),
                                        [](const Rank& rank) { return rank.pid > 0 && !rank.ended; }));
}

}  // namespace tasuki::launch
