// Ranks that ended, have not begun, or were stopped, and the ranks that wait for them.
#include <sys/wait.h>

#include <algorithm>
#include <map>

#include "doctor/findings.hpp"

namespace tasuki::doctor {
namespace {

bool failed(const RankState& state) {
  if (state.wait_status < 0) return false;
  return WIFSIGNALED(state.wait_status) || WEXITSTATUS(state.wait_status) != 0;
}

std::vector<int> ranks_where(const Case& the, bool (*holds)(const RankState& state)) {
  std::vector<int> ranks;
  for (int rank = 0; rank < the.graph->size(); ++rank) {
    if (holds(the.state(rank))) ranks.push_back(rank);
  }
  return ranks;
}

void find_dead(const Case& the) {
  std::map<std::string, std::vector<int>> by_end;  // all ranks can fail in the same way
  for (int rank = 0; rank < the.graph->size(); ++rank) {
    const RankState& state = the.state(rank);
    if (state.life != Life::kEnded || !failed(state)) continue;
    by_end[end_text(state.wait_status) + " " + whereabouts(state)].push_back(rank);
  }
  for (const auto& [end, ranks] : by_end) {
    std::string headline = ranks_text(ranks) + " ";
    if (ranks.size() == 1) headline += format("(pid %d) ", the.state(ranks.front()).pid);
    the.add("rank-died", ranks, headline + end).certain = true;
  }
}

void find_left_out(const Case& the) {
  const std::vector<int> early = ranks_where(the, [](const RankState& state) {
    return state.life == Life::kEnded && state.ended_in_mpi && !failed(state);
  });
  if (!early.empty()) {
    Finding& finding = the.add(
        "missing-finalize", early, ranks_text(early) + " ended without calling MPI_Finalize",
        "every way out of the program has to go through MPI_Finalize, or through MPI_Abort if it failed");
    finding.certain = true;
    Lines lines(&finding);
    for (const int rank : early) {
      lines.add(format("rank %d ", rank) + end_text(the.state(rank).wait_status) + " " +
                whereabouts(the.state(rank)));
    }
  }
  const std::vector<int> joined = ranks_where(the, [](const RankState& state) {
    return state.life != Life::kStarted &&
           (state.life != Life::kEnded || state.line.word != 0 || state.ended_in_mpi);
  });
  const std::vector<int> absent = ranks_where(the, [](const RankState& state) {
    return state.life == Life::kStarted ||
           (state.life == Life::kEnded && state.line.word == 0 && !state.ended_in_mpi && !failed(state));
  });
  if (joined.empty() || absent.empty()) return;
  const bool ended = std::any_of(absent.begin(), absent.end(),
                                 [&](int rank) { return the.state(rank).life == Life::kEnded; });
  Finding& finding =
      the.add("missing-init", absent,
              ranks_text(absent) + (absent.size() == 1 ? " has" : " have") + " not called MPI_Init, as " +
                  ranks_text(joined) + (joined.size() == 1 ? " has" : " have"),
              "all processes that mpiexec starts belong to MPI_COMM_WORLD: each has to call MPI_Init");
  finding.certain = ended;
}

void find_stopped(const Case& the) {
  const std::vector<int> stopped =
      ranks_where(the, [](const RankState& state) { return state.life != Life::kEnded && state.stopped; });
  if (stopped.empty()) return;
  Finding& finding = the.add(
      "stopped", stopped,
      ranks_text(stopped) + (stopped.size() == 1 ? " is" : " are") + " stopped by a signal or a debugger",
      "kill -CONT lets a process go on");
  finding.certain = true;
  Lines lines(&finding);
  for (const int rank : stopped) {
    lines.add(format("rank %d (pid %d) is ", rank, the.state(rank).pid) + whereabouts(the.state(rank)));
  }
}

}  // namespace

void find_ends(const Case& the) {
  find_dead(the);
  find_left_out(the);
  find_stopped(the);
}

void find_gone(const Case& the) {
  std::vector<int> waiting;
  std::vector<int> gone;
  for (int rank = 0; rank < the.graph->size(); ++rank) {
    const RankState& state = the.state(rank);
    if (!the.waits(rank) || kind_of(function_of(state)) == CallKind::kCollective) continue;
    const Clause* const clause = the.graph->stuck_clause(rank);
    if (clause == nullptr) continue;
    if (!std::all_of(clause->begin(), clause->end(),
                     [&](int other) { return the.graph->gone(other) || other == rank; })) {
      continue;
    }
    if (std::none_of(clause->begin(), clause->end(), [&](int other) { return the.graph->gone(other); }))
      continue;
    waiting.push_back(rank);
    for (const int other : *clause) {
      if (other != rank) gone.push_back(other);
    }
  }
  if (waiting.empty()) return;
  std::sort(gone.begin(), gone.end());
  gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  Finding& finding = the.add(
      "peer-ended", waiting,
      "deadlock: " + ranks_text(waiting) + (waiting.size() == 1 ? " waits for " : " wait for ") +
          ranks_text(gone) + (gone.size() == 1 ? ", which is done" : ", which are done"),
      "compare how many messages are sent with how many are received, and look for one that was left out");
  finding.is_deadlock = true;
  finding.certain = std::all_of(waiting.begin(), waiting.end(), [&](int rank) { return the.certain(rank); });
  Lines lines(&finding);
  for (const int rank : waiting) lines.add(format("rank %d waits in ", rank) + call_text(the.state(rank)));
  for (const int rank : gone) {
    const RankState& state = the.state(rank);
    lines.add(format("rank %d ", rank) +
              (state.life == Life::kEnded ? end_text(state.wait_status) + " " : "is ") + whereabouts(state));
  }
}

}  // namespace tasuki::doctor
