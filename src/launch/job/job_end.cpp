// How a job ends: ranks that ended, signals, and what is done to the others.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/clock.hpp"
#include "launch/base/format.hpp"
#include "launch/host/orphans.hpp"
#include "launch/host/signals.hpp"
#include "launch/job/job.hpp"

namespace tasuki::launch {
namespace {

using local::Life;

// After SIGKILL: a rank that has not ended by then hangs in the kernel; what ranks left behind is not our
// child, and its end is not seen at all where the container's first process does not reap.
constexpr std::int64_t kRankGiveUpNs = 5'000'000'000;
constexpr std::int64_t kLeftoverGiveUpNs = 100'000'000;

constexpr std::int64_t kGraceNs = 300'000'000;  // between SIGTERM and SIGKILL

// What it takes to tell of the failure: a helper process that reads debug information.
constexpr std::int64_t kMemoryBytesMin = 16 << 20;
constexpr std::int64_t kMemoryGiveUpNs = 1'000'000'000;
constexpr long kMemoryPollNs = 2'000'000;

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
  std::vector<Ended> ended;
  for_each_rank([&ended](World& world, Rank& rank) {
    if (!rank.running()) return;
    siginfo_t info{};
    const int got = waitid(P_PID, static_cast<id_t>(rank.pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if (got != 0 || info.si_pid != rank.pid) return;
    rank.ended = true;
    rank.wait_status = as_wait_status(info);
    ended.push_back({&world, static_cast<int>(&rank - world.ranks.data())});
  });
  if (ended.empty()) reap_orphans();
  if (phase_ == Phase::kRunning && !ended.empty()) judge_ended(ended);
}

/// Of several ranks that ended at once the cause is the one that asked for the end, then one that was killed.
void Job::judge_ended(const std::vector<Ended>& ended) {
  std::vector<Ended> failed;
  for (const Ended& one : ended) {
    WorldSegment& segment = one.world->segment;
    if (segment.rank(one.rank).in_world.load(std::memory_order_acquire) == 0) {
      segment.header().absent_rank.store(one.rank + 1, std::memory_order_seq_cst);
    }
    const RankEnd end = end_of(one);
    const Verdict verdict = judge(end);
    if (verdict == Verdict::kFailed) failed.push_back(one);
    if (verdict == Verdict::kReturned && status_ == 0) status_ = exit_status(end);
  }
  for (const auto& world : worlds_) {
    const int aborted = world->segment.header().first_abort.load(std::memory_order_acquire);
    if (aborted > 0 && aborted <= world->size()) return fail({world.get(), aborted - 1});
  }
  if (failed.empty()) return;
  const auto killed = std::find_if(failed.begin(), failed.end(), [](const Ended& one) {
    return WIFSIGNALED(one.world->ranks[static_cast<std::size_t>(one.rank)].wait_status);
  });
  fail(killed != failed.end() ? *killed : failed.front());
}

RankEnd Job::end_of(const Ended& one) {
  local::RankBlock& block = one.world->segment.rank(one.rank);
  const Rank& ended = one.world->ranks[static_cast<std::size_t>(one.rank)];
  RankEnd end;
  end.spawn = one.world->number;
  end.rank = one.rank;
  const int claimed = block.claimed_pid.load(std::memory_order_seq_cst);
  end.life = block.life.load(std::memory_order_acquire);
  if (end.life == Life::kStarted && claimed != 0) end.life = Life::kJoined;
  end.pid = end.life == Life::kAborting ? claimed : ended.pid;
  end.wait_status = ended.wait_status;
  if (end.life == Life::kAborting) {
    end.abort_code = block.abort_code.load(std::memory_order_relaxed);
    end.abort_message.assign(block.abort_message, strnlen(block.abort_message, local::kAbortMessageBytes));
  }
  end.in_world = block.in_world.load(std::memory_order_acquire) != 0;
  end.others_in_world = any_other_in_world(one);
  return end;
}

/// Of a spawned rank those who spawned it are others too: they wait for it.
bool Job::any_other_in_world(const Ended& ended) {
  if (ended.world->spawned()) return true;
  for (int other = 0; other < ended.world->size(); ++other) {
    const auto& in_world = ended.world->segment.rank(other).in_world;
    if (other != ended.rank && in_world.load(std::memory_order_seq_cst) != 0) return true;
  }
  return false;
}

/// What a rank had whom the kernel killed comes back when nobody maps it any more, and whoever asks for
/// memory before is killed, too: so the others go at once, and we ask for none until there is some.
void Job::wait_for_memory() {
  const std::int64_t end_ns = clock_ns() + kMemoryGiveUpNs;
  const timespec pause{0, kMemoryPollNs};
  if (memory_limit_.room_bytes() >= kMemoryBytesMin) return;
  signal_groups(SIGKILL);
  while (memory_limit_.room_bytes() < kMemoryBytesMin && clock_ns() < end_ns) nanosleep(&pause, nullptr);
}

void Job::fail(const Ended& ended) {
  RankEnd end = end_of(ended);
  if (exit_status(end) == 128 + SIGKILL && memory_limit_.has_killed()) wait_for_memory();
  end.memory_exceeded = memory_limit_.exceeded();
  if (status_ == 0) status_ = exit_status(end);
  Rank& rank = ended.world->ranks[static_cast<std::size_t>(ended.rank)];
  for (RankStream* stream : {rank.output.get(), rank.error.get()}) {
    if (stream != nullptr) stream->take_available();  // its last words come before ours
  }
  const bool reader_gone =
      output_.error() == EPIPE && WIFSIGNALED(end.wait_status) &&
      WTERMSIG(end.wait_status) == SIGPIPE;  // as in "mpiexec … | head": no failure to tell of
  if (reader_gone) return begin_ending();
  failure_ = std::make_unique<Failure>(Failure{ended, std::move(end)});
  phase_ = Phase::kExamining;
  examine(Occasion::kFailure);
  go_on_with_examination();
}

void Job::end_at_time_limit() {
  hurry_ = true;
  const int left = running();
  say(format("mpiexec: the time limit of %g s is over%s; ending %d rank%s that still run%s",
             options_.timeout_seconds, stands_as_told() ? ", with all ranks where they were" : "", left,
             left == 1 ? "" : "s", left == 1 ? "s" : ""));
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
    case SIGQUIT:
      if (phase_ == Phase::kRunning) return examine(Occasion::kAsked);
      break;
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
  hide_top();
  signal_groups(SIGTSTP);
  raise(SIGSTOP);  // until somebody sends SIGCONT, which arrives as a signal too
}

void Job::begin_ending() {
  cut_examination_short();
  phase_ = Phase::kEnding;
  deadline_ns_ = clock_ns() + kGraceNs;
  signal_groups(SIGTERM);
  signal_groups(SIGCONT);  // one that is stopped could not end
}

void Job::kill_ranks() {
  cut_examination_short();
  phase_ = Phase::kKilling;
  deadline_ns_ = clock_ns() + (running() > 0 ? kRankGiveUpNs : kLeftoverGiveUpNs);
  signal_groups(SIGKILL);
}

/// Signals all that a rank's program started, too. Before reap_all() no group's number can be another's. What
/// left its group is our child once it has lost its parent, which is the case when the groups have ended.
void Job::signal_groups(int signal) {
  for_each_rank([signal](World&, const Rank& rank) {
    if (rank.pid > 0) kill(-rank.pid, signal);
  });
  if (phase_ == Phase::kRunning) return;
  for (const int pid : orphans()) kill(pid, signal);
}

/// Whether processes of the ranks are left; forgets the groups that are empty. REQUIRES: reap_all().
bool Job::groups_left() {
  bool left = false;
  for_each_rank([this, &left](World&, Rank& rank) {
    if (rank.pid <= 0) return;
    if (kill(-rank.pid, 0) == 0 || errno == EPERM) {
      left = true;
    } else {
      rank.pid = -1;
      guard_.remove(rank.group_place);
    }
  });
  return left;
}

/// Our children that we did not start: processes that have lost their parent, and what a script had started
/// before it became mpiexec.
std::vector<int> Job::other_children() const {
  std::vector<int> found = children();
  std::erase(found, guard_.pid());  // which may not have its name yet
  for_each_rank([&found](World&, const Rank& rank) { std::erase(found, rank.pid); });
  std::erase_if(found, [](int pid) { return is_helper(pid); });
  return found;
}

/// Those of them that ranks' programs have started.
std::vector<int> Job::orphans() const {
  std::vector<int> found = other_children();
  std::erase_if(found, [this](int pid) { return !has_mark(pid, mark_); });
  return found;
}

void Job::reap_orphans() {
  for (const int pid : other_children()) waitpid(pid, nullptr, WNOHANG);
}

void Job::reap_all() {
  for_each_rank([](World&, const Rank& rank) {
    while (rank.pid > 0 && waitpid(rank.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  });
  reaped_ = true;
}

int Job::running() const {
  int count = 0;
  for_each_rank([&count](World&, const Rank& rank) { count += rank.running() ? 1 : 0; });
  return count;
}

}  // namespace tasuki::launch
