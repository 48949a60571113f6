// From job segments and wait statuses to one cause.
#include "launch/ending/ended_ranks.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>

namespace tasuki::launch {
namespace {

using local::Life;

/// Of a spawned rank those that spawned it are others too: they wait for it.
bool any_other_in_world(const WorldRank& ended) {
  World& world = *ended.world;
  if (world.spawned()) return true;
  for (int other = 0; other < world.size(); ++other) {
    const auto& in_world = world.segment.rank(other).in_world;
    if (other != ended.number && in_world.load(std::memory_order_seq_cst) != 0) return true;
  }
  return false;
}

/// The first rank that called MPI_Abort, whether it has ended by now or not, in a world that is not ending.
std::optional<WorldRank> first_abort(const Worlds& worlds) {
  for (const auto& world : worlds) {
    if (world->course != Course::kRuns) continue;
    const int aborted = world->segment.header().first_abort.load(std::memory_order_acquire);
    if (aborted > 0 && aborted <= world->size()) return WorldRank{world.get(), aborted - 1};
  }
  return {};
}

}  // namespace

RankEnd end_of(const WorldRank& ended) {
  local::RankBlock& block = ended.block();
  RankEnd end;
  end.spawn = ended.world->number;
  end.rank = ended.number;
  const int claimed = block.claimed_pid.load(std::memory_order_seq_cst);
  end.life = block.life.load(std::memory_order_acquire);
  if (end.life == Life::kStarted && claimed != 0) end.life = Life::kJoined;
  end.pid = end.life == Life::kAborting && claimed > 0 ? claimed : ended.rank().pid;
  const Placement& placement = ended.world->placement;
  if (!ended.rank().here) end.host = placement.hosts[static_cast<std::size_t>(placement.host(ended.number))];
  end.wait_status = ended.rank().wait_status;
  if (end.life == Life::kAborting) {
    end.abort_code = block.abort_code.load(std::memory_order_relaxed);
    end.abort_message.assign(block.abort_message, strnlen(block.abort_message, local::kAbortMessageBytes));
  }
  end.in_world = block.in_world.load(std::memory_order_acquire) != 0;
  end.others_in_world = any_other_in_world(ended);
  return end;
}

Judgement judge_ended(const Worlds& worlds, const std::vector<WorldRank>& ended) {
  Judgement judgement;
  std::vector<WorldRank> failed;
  for (const WorldRank& one : ended) {
    if (one.block().in_world.load(std::memory_order_acquire) == 0) {
      one.world->segment.header().absent_rank.store(one.number + 1, std::memory_order_seq_cst);
    }
    const RankEnd end = end_of(one);
    const Verdict verdict = judge(end);
    if (verdict == Verdict::kFailed) failed.push_back(one);
    if (verdict == Verdict::kReturned && judgement.status == 0) judgement.status = exit_status(end);
  }
  judgement.cause = first_abort(worlds);
  if (judgement.cause || failed.empty()) return judgement;
  const auto killed = std::find_if(failed.begin(), failed.end(),
                                   [](const WorldRank& one) { return WIFSIGNALED(one.rank().wait_status); });
  judgement.cause = killed != failed.end() ? *killed : failed.front();
  return judgement;
}

}  // namespace tasuki::launch
