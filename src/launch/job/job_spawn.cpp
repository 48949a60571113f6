// Worlds that come and go while the job runs (MPI 11.8).
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "launch/base/format.hpp"
#include "launch/job/job.hpp"

namespace tasuki::launch {
namespace {

/// All ranks have ended, and nobody has their outputs open.
bool is_over(World& world) {
  bool over =
      std::none_of(world.ranks.begin(), world.ranks.end(), [](const Rank& rank) { return rank.running(); });
  world.for_each_stream([&over](const RankStream& stream) { over = over && !stream.open(); });
  return over;
}

void reap(const Rank& rank) {
  while (rank.pid > 0 && waitpid(rank.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::string Job::spawn(const SpawnRequest& request) {
  if (phase_ != Phase::kRunning) return "the job is ending";
  worlds_made_ = std::max(worlds_made_, 1);  // 0 is the command line's
  auto world = std::make_unique<World>();
  std::size_t ranks = 0;
  for (const SpawnProgram& program : request.programs) {
    Application application;
    application.ranks = program.ranks;
    application.command = program.command;
    application.directory = program.directory;
    application.path = program.path;
    if (!program.initial_errhandler.empty())
      application.environment.push_back({"TASUKI_INITIAL_ERRHANDLER", program.initial_errhandler});
    world->applications.push_back(std::move(application));
    ranks += static_cast<std::size_t>(program.ranks);
  }
  if (ranks == 0 || ranks > static_cast<std::size_t>(kRanksMax))
    return format("cannot start %zu ranks at once, expected 1 to %d", ranks, kRanksMax);
  if (request.parent_port.size() >= local::kPortBytes) return "the port's name is too long";
  Refusal refusal;
  if (!prepare(world.get(), &refusal)) return refusal.text;
  std::snprintf(world->segment.header().parent_port, local::kPortBytes, "%s", request.parent_port.c_str());
  World& started = *worlds_.emplace_back(std::move(world));
  if (start_all(&started, &refusal)) return {};
  abandon(started);
  return refusal.text;
}

/// A world that is not complete: those that were started must not wait for the others.
void Job::abandon(World& world) {
  for (Rank& rank : world.ranks) {
    if (rank.pid <= 0) continue;
    kill(-rank.pid, SIGKILL);
    reap(rank);
    guard_.remove(rank.group_place);
  }
  std::erase_if(worlds_, [&world](const auto& one) { return one.get() == &world; });
}

/// Lets go of spawned worlds that are over. What their programs may have left behind is told to end.
void Job::retire_worlds() {
  if (phase_ != Phase::kRunning || examination_ != nullptr) return;
  std::erase_if(worlds_, [this](const auto& world) {
    if (!world->spawned() || !is_over(*world)) return false;
    take_statistics(*world);
    for (const Rank& rank : world->ranks) {
      if (rank.pid <= 0) continue;
      kill(-rank.pid, SIGTERM);
      reap(rank);
      guard_.remove(rank.group_place);
    }
    return true;
  });
}

/// The program that this mpiexec was started for has ended. What it spawned goes on only if it took its
/// leave.
void Job::owner_gone(bool in_order) {
  if (in_order || phase_ != Phase::kRunning || running() == 0) return;
  say("mpiexec: the program that spawned these ranks has died; ending them");
  if (status_ == 0) status_ = 1;
  begin_ending();
}

}  // namespace tasuki::launch
