// waitid, kill, waitpid.
#include "launch/host/rank_processes.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>

#include "base/system/random_number.hpp"
#include "job/local/job_segment.hpp"
#include "launch/base/format.hpp"
#include "launch/host/orphans.hpp"

namespace tasuki::launch {
namespace {

/// waitid's answer in the form of waitpid's.
int as_wait_status(const siginfo_t& info) {
  return info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
}

void wait_for(int pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

/// The kernel drops SIGTSTP where it would stop a process of an orphaned group, and ranks are in such groups.
void signal_groups(const World& world, int signal) {
  for (const Rank& rank : world.ranks) {
    if (!rank.here || rank.pid <= 0) continue;
    kill(-rank.pid, signal);
    if (signal == SIGTSTP) kill(-rank.pid, SIGSTOP);
  }
}

}  // namespace

RankProcesses::RankProcesses(Worlds& worlds)
    : worlds_(worlds),
      id_(format("%llx", static_cast<unsigned long long>(random_number()))),
      mark_(std::string(local::kLauncherIdName) + "=" + id_) {}

void RankProcesses::begin(const std::string& folder) {
  adopt_orphans();
  guard_.start(mark_, folder);
}

void RankProcesses::started(const WorldRank& rank, int pid) {
  rank.rank().pid = pid;
  rank.rank().group_place = guard_.add(pid);
  rank.block().started_pid.store(pid, std::memory_order_release);
}

std::vector<WorldRank> RankProcesses::take_ended() {
  std::vector<WorldRank> ended;
  if (far_ != nullptr) ended = far_->take_ended();
  worlds_.for_each_rank([&ended](WorldRank one) {
    Rank& rank = one.rank();
    if (!rank.here || !rank.running()) return;
    siginfo_t info{};
    const int got = waitid(P_PID, static_cast<id_t>(rank.pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if (got != 0 || info.si_pid != rank.pid) return;
    rank.ended = true;
    rank.wait_status = as_wait_status(info);
    ended.push_back(one);
  });
  if (ended.empty()) reap_orphans();
  return ended;
}

/// Before reap() no group's number can be another's. What left its group is our child once it has lost its
/// parent, which is the case when the groups have ended.
void RankProcesses::signal(int signal, bool orphans_too) const {
  if (far_ != nullptr) far_->signal(signal, orphans_too);
  for (const auto& world : worlds_) signal_groups(*world, signal);
  if (!orphans_too) return;
  for (const int pid : orphans()) kill(pid, signal);
}

void RankProcesses::signal_world(const World& world, int signal) const {
  if (far_ != nullptr) far_->signal_world(world, signal);
  signal_groups(world, signal);
}

void RankProcesses::end_world(World& world, int signal) {
  for (Rank& rank : world.ranks) {
    if (!rank.here || rank.pid <= 0) continue;
    kill(-rank.pid, signal);
    wait_for(rank.pid);
    guard_.remove(rank.group_place);
    rank.pid = -1;
  }
}

void RankProcesses::reap() {
  worlds_.for_each_rank([](WorldRank one) {
    if (one.rank().here && one.rank().pid > 0) wait_for(one.rank().pid);
  });
  if (far_ != nullptr) far_->settle();
  reaped_ = true;
}

bool RankProcesses::any_left() {
  reap_orphans();
  bool left = false;
  worlds_.for_each_rank([this, &left](WorldRank one) {
    Rank& rank = one.rank();
    if (!rank.here || rank.pid <= 0) return;
    if (kill(-rank.pid, 0) == 0 || errno == EPERM) {
      left = true;
    } else {
      rank.pid = -1;
      guard_.remove(rank.group_place);
    }
  });
  return left || !orphans().empty();
}

/// Our children that we did not start: processes that have lost their parent, and what a script had started
/// before it became mpiexec.
std::vector<int> RankProcesses::other_children() const {
  std::vector<int> found = children();
  std::erase(found, guard_.pid());  // which may not have its name yet
  worlds_.for_each_rank([&found](WorldRank one) { std::erase(found, one.rank().pid); });
  std::erase_if(found, [this](int pid) {
    return is_helper(pid) || (launchers_ != nullptr && launchers_->is_launcher(pid));
  });
  return found;
}

/// Those of them that ranks' programs have started.
std::vector<int> RankProcesses::orphans() const {
  std::vector<int> found = other_children();
  std::erase_if(found, [this](int pid) { return !has_mark(pid, mark_); });
  return found;
}

void RankProcesses::reap_orphans() const {
  for (const int pid : other_children()) waitpid(pid, nullptr, WNOHANG);
}

}  // namespace tasuki::launch
