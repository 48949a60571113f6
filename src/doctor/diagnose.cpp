// The whole: the table and all findings of all worlds, the gravest first.
#include "doctor/diagnose.hpp"

#include <algorithm>

#include "base/stable_sort.hpp"
#include "doctor/findings.hpp"
#include "doctor/groups.hpp"

namespace tasuki::doctor {
namespace {

/// What comes first in the verdict: causes before what follows from them.
int weight_of(const Finding& finding) {
  constexpr const char* kOrder[] = {"rank-died",
                                    "missing-finalize",
                                    "missing-init",
                                    "packets-on-the-way",
                                    "collective-mismatch",
                                    "root-mismatch",
                                    "op-mismatch",
                                    "signature-mismatch",
                                    "tag-mismatch",
                                    "communicator-mismatch",
                                    "source-mismatch",
                                    "waits-for-itself",
                                    "unsafe-exchange",
                                    "deadlock-cycle",
                                    "peer-ended",
                                    "collective-missing",
                                    "unmatched-send",
                                    "stopped",
                                    "polling",
                                    "computing",
                                    "waits-outside"};
  int weight = 0;
  for (const char* const id : kOrder) {
    if (finding.id == id) return weight;
    ++weight;
  }
  return weight;
}

Diagnosis diagnose_all(const Snapshot* first, const Snapshot& now) {
  Diagnosis diagnosis;
  for (std::size_t i = 0; i < now.worlds.size(); ++i) {
    const World& world = now.worlds[i];
    diagnosis.world_numbers.push_back(world.number);
    diagnosis.world_sizes.push_back(static_cast<int>(world.ranks.size()));
    const World* const before = first != nullptr && i < first->worlds.size() ? &first->worlds[i] : nullptr;
    group_ranks(world, static_cast<int>(i), now.at_ns, &diagnosis.groups);
    const Graph graph = make_graph(before, world);
    const Case the{static_cast<int>(i), &graph, now.at_ns, &diagnosis.findings};
    find_ends(the);
    find_packets(the);
    find_collectives(the);
    find_mismatches(the);
    find_cycles(the);
    find_unmatched_sends(the);
    find_gone(the);
    find_others(the);
  }
  stable_sort(&diagnosis.findings,
              [](const Finding& a, const Finding& b) { return weight_of(a) < weight_of(b); });
  return diagnosis;
}

}  // namespace

Finding& Case::add(const char* id, const std::vector<int>& ranks, std::string headline,
                   std::string hint) const {
  Finding finding;
  finding.id = id;
  for (const int rank : ranks) finding.ranks.push_back({world, rank});
  std::sort(finding.ranks.begin(), finding.ranks.end());
  finding.text.push_back(std::move(headline));
  finding.hint = std::move(hint);
  findings->push_back(std::move(finding));
  return findings->back();
}

bool Diagnosis::certain_deadlock() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.is_deadlock && finding.certain; });
}

Diagnosis diagnose(const Snapshot& snapshot) {
  return diagnose_all(nullptr, snapshot);
}

Diagnosis diagnose(const Snapshot& first, const Snapshot& second) {
  return diagnose_all(&first, second);
}

std::string whereabouts(const RankState& state) {
  const std::string_view name = name_of(function_of(state));
  if (state.life == Life::kFinalized) return "after MPI_Finalize";
  if (state.life == Life::kJoining && name.empty()) return "in MPI_Init";
  if (name.empty())
    return state.life == Life::kRunning || state.ended_in_mpi ? "outside MPI" : "before MPI_Init";
  if (state.report ? (state.report->word & kInside) != 0 : state.line.inside) return "in " + call_text(state);
  return "outside MPI, after " + std::string(name) +
         place_text(state, state.report ? state.report->site : state.line.site);
}

}  // namespace tasuki::doctor
