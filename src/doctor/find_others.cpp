// What is no deadlock: the ranks that are waited for compute, poll, or are outside of this job.
#include <algorithm>

#include "doctor/findings.hpp"

namespace tasuki::doctor {
namespace {

/// Ranks that wait for no other, while others wait for them, directly or through others.
std::vector<int> awaited_ones(const Case& the, std::vector<int>* waiting) {
  std::vector<char> awaited(static_cast<std::size_t>(the.graph->size()), 0);
  for (int rank = 0; rank < the.graph->size(); ++rank) {
    if (!the.waits(rank) || the.stuck(rank)) continue;
    waiting->push_back(rank);
    for (const Clause& clause : the.graph->waits[static_cast<std::size_t>(rank)].clauses) {
      for (const int other : clause) {
        if (other >= 0 && other < the.graph->size()) awaited[static_cast<std::size_t>(other)] = 1;
      }
    }
  }
  std::vector<int> ranks;
  for (int rank = 0; rank < the.graph->size(); ++rank) {
    const bool acts = !the.waits(rank) && !the.graph->gone(rank) && !the.state(rank).stopped &&
                      the.state(rank).life != Life::kStarted;
    if (awaited[static_cast<std::size_t>(rank)] != 0 && acts) ranks.push_back(rank);
  }
  return ranks;
}

bool polls(const RankState& state) {
  return state.report && kind_of(function_of(state)) == CallKind::kPoll;
}

void tell(const Case& the, const char* id, const std::vector<int>& ranks, const std::vector<int>& waiting,
          const char* one, const char* several, const char* hint) {
  if (ranks.empty()) return;
  Finding& finding = the.add(id, ranks,
                             ranks_text(waiting) + (waiting.size() == 1 ? " waits" : " wait") + " for " +
                                 ranks_text(ranks) + ", " + (ranks.size() == 1 ? one : several),
                             hint);
  Lines lines(&finding);
  for (const int rank : ranks) {
    std::string line = format("rank %d is ", rank) + whereabouts(the.state(rank));
    if (polls(the.state(rank)) && the.state(rank).report->open_total > 0)
      line += "; it has open: " + message_text(the.state(rank), the.state(rank).report->open[0]);
    for (const Place& place : the.state(rank).stack) line += place.text.empty() ? "" : ", in " + place.text;
    lines.add(std::move(line));
  }
}

}  // namespace

void find_others(const Case& the) {
  std::vector<int> waiting;
  std::vector<int> polling;
  std::vector<int> computing;
  for (const int rank : awaited_ones(the, &waiting)) {
    (polls(the.state(rank)) ? polling : computing).push_back(rank);
  }
  tell(the, "computing", computing, waiting, "which computes: no deadlock", "which compute: no deadlock",
       "if that takes longer than it should, look with a debugger or a profiler at what it does");
  tell(the, "polling", polling, waiting, "which asks for something again and again, in vain so far",
       "which ask for something again and again, in vain so far",
       "look at what would make the test succeed, and who has to do it");
  std::vector<int> outside;
  for (const int rank : waiting) {
    if (the.graph->waits[static_cast<std::size_t>(rank)].outside) outside.push_back(rank);
  }
  if (outside.empty()) return;
  Finding& finding =
      the.add("waits-outside", outside,
              ranks_text(outside) + (outside.size() == 1 ? " waits" : " wait") +
                  " for something outside of these ranks: another job, a file, or the program itself");
  Lines lines(&finding);
  for (const int rank : outside) {
    const std::string words = the.state(rank).report->outside;
    lines.add(format("rank %d is in ", rank) + call_text(the.state(rank)) +
              (words.empty() ? "" : "; it waits for " + words));
  }
}

}  // namespace tasuki::doctor
