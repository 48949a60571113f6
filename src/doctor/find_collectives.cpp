// Collective calls that do not fit together, and ranks that have not come to one.
#include <algorithm>
#include <functional>
#include <map>

#include "doctor/findings.hpp"

namespace tasuki::doctor {
namespace {

/// The ranks that wait in the same collective call: the `number`th on a communicator.
struct Meeting {
  std::uint64_t context = 0;
  std::uint64_t number = 0;
  std::vector<int> ranks;
};

std::vector<Meeting> meetings_of(const Case& the) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, Meeting> by_call;
  for (int rank = 0; rank < the.graph->size(); ++rank) {
    if (!the.waits(rank)) continue;
    const RankReport& report = *the.state(rank).report;
    const ReportedComm* const comm = comm_of(report);
    if (comm == nullptr || report.collective == 0) continue;
    Meeting& meeting = by_call[{comm->context, report.collective}];
    meeting.context = comm->context;
    meeting.number = report.collective;
    meeting.ranks.push_back(rank);
  }
  std::vector<Meeting> meetings;
  for (auto& [call, meeting] : by_call) meetings.push_back(std::move(meeting));
  return meetings;
}

const char* ordinal_of(std::uint64_t number) {
  if (number % 100 / 10 == 1) return "th";
  return number % 10 == 1 ? "st" : number % 10 == 2 ? "nd" : number % 10 == 3 ? "rd" : "th";
}

std::string meeting_text(const Case& the, const Meeting& meeting) {
  const ReportedComm* const comm = comm_of(*the.state(meeting.ranks.front()).report);
  return format("the %llu%s collective call on ", static_cast<unsigned long long>(meeting.number),
                ordinal_of(meeting.number)) +
         comm_text(*comm);
}

bool certain_all(const Case& the, const std::vector<int>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return the.certain(rank); });
}

bool stuck_any(const Case& the, const std::vector<int>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [&](int rank) { return the.stuck(rank); });
}

/// By what ranks of one call can differ; equal texts: they do not.
using Trait = std::function<std::string(const RankState& state)>;

/// Tells of a difference, if there is one: each value with its ranks.
bool tell_difference(const Case& the, const Meeting& meeting, const char* id, const char* what,
                     const Trait& trait, const char* hint) {
  std::map<std::string, std::vector<int>> values;
  for (const int rank : meeting.ranks) {
    const std::string value = trait(the.state(rank));
    if (!value.empty()) values[value].push_back(rank);
  }
  if (values.size() < 2) return false;
  Finding& finding =
      the.add(id, meeting.ranks,
              ranks_text(meeting.ranks) + " call " + what + " in " + meeting_text(the, meeting), hint);
  finding.certain = true;  // they cannot leave that call and come back to it with other arguments
  finding.is_deadlock = stuck_any(the, meeting.ranks) && certain_all(the, meeting.ranks);
  Lines lines(&finding);
  for (const auto& [value, ranks] : values) {
    const std::string call = call_text(the.state(ranks.front()));
    lines.add(ranks_text(ranks) + ": " + (call.starts_with(value) ? "" : value + ", in ") + call);
  }
  return true;
}

/// Whether all ranks of such a call give the same number of the same elements.
bool has_one_signature(std::string_view name) {
  for (const std::string_view one : {"MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Scan", "MPI_Exscan",
                                     "MPI_Reduce_scatter_block", "MPI_Allgather", "MPI_Alltoall"}) {
    if (name == one) return true;
  }
  return false;
}

bool tell_arguments(const Case& the, const Meeting& meeting) {
  const auto name = [](const RankState& state) { return std::string(name_of(function_of(state))); };
  if (tell_difference(the, meeting, "collective-mismatch", "different functions", name,
                      "all ranks of a communicator must call its collectives in the same order")) {
    return true;
  }
  const auto root = [](const RankState& state) {
    return state.report->root < 0 ? "" : format("root is rank %d", state.report->root);
  };
  bool told = tell_difference(the, meeting, "root-mismatch", "with different roots", root,
                              "the root must be the same number on all ranks");
  const auto op = [](const RankState& state) { return std::string(state.report->op_name); };
  told |= tell_difference(the, meeting, "op-mismatch", "with different operations", op,
                          "the operation must be the same on all ranks");
  if (!has_one_signature(name(the.state(meeting.ranks.front())))) return told;
  const auto types = [](const RankState& state) {
    const RankReport& report = *state.report;
    if (report.types == 0) return std::string();
    // Equal signatures can come of other counts and types: the hash decides, the rest is for the reader.
    return format("%lld bytes, signature %08llx", static_cast<long long>(report.bytes),
                  static_cast<unsigned long long>(report.types & 0xffffffff));
  };
  told |= tell_difference(the, meeting, "signature-mismatch", "with different counts or types", types,
                          "count and type must describe the same data on all ranks");
  return told;
}

/// What the ranks that have not come do instead.
void tell_instead(const Case& the, const std::vector<int>& missing, Lines* lines) {
  std::map<std::string, std::vector<int>> doings;
  for (const int rank : missing) {
    const RankState& state = the.state(rank);
    const std::string end = state.life == Life::kEnded ? end_text(state.wait_status) + " " : "";
    doings[end + whereabouts(state)].push_back(rank);
  }
  for (const auto& [doing, ranks] : doings) {
    const bool ended = the.state(ranks.front()).life == Life::kEnded;
    lines->add(ranks_text(ranks) + (ended ? " " : ranks.size() == 1 ? " is " : " are ") + doing);
  }
}

void tell_missing(const Case& the, const Meeting& meeting) {
  const RankReport& report = *the.state(meeting.ranks.front()).report;
  const auto& known = the.graph->comms.find(meeting.context)->second;
  std::vector<int> missing;
  for (int rank = 0; rank < the.graph->size(); ++rank) {
    if (!contains(report.members, rank)) continue;
    const auto told = std::find_if(known.begin(), known.end(),
                                   [&](const Membership& member) { return member.rank == rank; });
    const RankState& state = the.state(rank);
    const bool lists_all =
        state.report && state.report->comms_total <= static_cast<std::uint32_t>(kReportedComms);
    const bool is_behind = told != known.end() ? told->collectives < meeting.number : lists_all;
    const bool behind = is_behind && the.stuck(rank);
    if (behind || the.graph->gone(rank)) missing.push_back(rank);
  }
  if (missing.empty()) return;
  const bool one = missing.size() == 1;
  Finding& finding = the.add(
      "collective-missing", missing,
      ranks_text(missing) + (one ? " has" : " have") + " not come to " + meeting_text(the, meeting) +
          ", in which " + ranks_text(meeting.ranks) + (meeting.ranks.size() == 1 ? " waits" : " wait"),
      "a collective call has to be made by all ranks of its communicator: look for a condition that "
      "lets some go past it");
  finding.certain = certain_all(the, meeting.ranks);
  finding.is_deadlock = stuck_any(the, meeting.ranks);
  Lines lines(&finding);
  lines.add(ranks_text(meeting.ranks) + (meeting.ranks.size() == 1 ? " is in " : " are in ") +
            call_text(the.state(meeting.ranks.front())));
  tell_instead(the, missing, &lines);
}

}  // namespace

void find_collectives(const Case& the) {
  for (const Meeting& meeting : meetings_of(the)) {
    if (meeting.ranks.size() > 1) tell_arguments(the, meeting);
    if (stuck_any(the, meeting.ranks)) tell_missing(the, meeting);
  }
}

}  // namespace tasuki::doctor
