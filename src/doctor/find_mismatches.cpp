// Messages that have come, or wait to be taken, and that do not match what the receiver waits for.
#include <algorithm>

#include "doctor/findings.hpp"

namespace tasuki::doctor {
namespace {

/// A message that a rank waits for.
struct Wanted {
  std::int32_t source = kNobody;
  std::int32_t tag = 0;
  std::uint64_t context = 0;
  std::string comm;
};

std::vector<Wanted> wanted_by(const RankState& state) {
  std::vector<Wanted> wanted;
  const RankReport& report = *state.report;
  const CallKind kind = kind_of(function_of(state));
  const bool is_users = kind == CallKind::kReceive || kind == CallKind::kProbe || kind == CallKind::kWait ||
                        kind == CallKind::kBoth;
  if (!is_users) return wanted;  // what a collective call receives is its own affair
  for (const ReportedMessage& message : report.open) {
    if (message.kind != OpenKind::kReceive || message.is_awaited == 0) continue;
    wanted.push_back({message.peer, message.tag, message.context, message.comm_name});
  }
  const ReportedComm* const comm = comm_of(report);
  if (wanted.empty() && comm != nullptr && (kind == CallKind::kReceive || kind == CallKind::kProbe)) {
    wanted.push_back({report.peer, report.tag, comm->context, comm_text(*comm)});
  }
  return wanted;
}

/// How a message misses what is wanted: by one thing alone, or not worth telling.
const char* miss(const Wanted& wanted, const ReportedMessage& message, int source) {
  const bool from = wanted.source == source || wanted.source == kAnybody;
  const bool tag = wanted.tag == message.tag || wanted.tag == kAnyTagOfReport;
  const bool comm = wanted.context == message.context;
  if (from && comm && !tag) return "tag-mismatch";
  if (from && tag && !comm) return "communicator-mismatch";
  if (tag && comm && !from) return "source-mismatch";
  return nullptr;
}

std::string wanted_text(const Wanted& wanted) {
  std::string text = wanted.source >= 0 ? format("from rank %d", wanted.source) : "from any rank";
  return text + " with " + tag_text(wanted.tag) + " on " +
         (wanted.comm.empty() ? "a communicator" : wanted.comm);
}

const char* hint_for(std::string_view id) {
  if (id == "tag-mismatch") return "compare the tags of the send and of the receive";
  if (id == "source-mismatch") return "compare the source of the receive with the rank that sends";
  return "a message is received on the communicator it was sent on: compare those of the send and of the "
         "receive";
}

void tell(const Case& the, int rank, const Wanted& wanted, const ReportedMessage& message, int source,
          const char* id) {
  Finding& finding = the.add(
      id, source >= 0 && source != rank ? std::vector<int>{rank, source} : std::vector<int>{rank},
      format("rank %d waits for a message ", rank) + wanted_text(wanted) + ", and has one " +
          wanted_text({source, message.tag, message.context, message.comm_name}) + " that no rank receives",
      hint_for(id));
  finding.certain = the.certain(rank);
  finding.text.push_back(format("rank %d waits in ", rank) + call_text(the.state(rank)));
  if (source < 0 || source >= the.graph->size() || !the.state(source).report) return;
  for (const ReportedMessage& sent : the.state(source).report->open) {
    if (sent.kind != OpenKind::kSend || sent.peer != rank || sent.tag != message.tag) continue;
    finding.text.push_back(format("rank %d sends it: ", source) + message_text(the.state(source), sent));
    return;
  }
}

bool wants_it(const std::vector<Wanted>& wanted, const ReportedMessage& message) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const Wanted& one) {
    return (one.source == message.peer || one.source == kAnybody) && one.context == message.context &&
           (one.tag == message.tag || one.tag == kAnyTagOfReport);
  });
}

/// The first message that misses what this rank waits for. A wrong tag tells more than a wrong source.
void look_at(const Case& the, int rank) {
  const RankReport& report = *the.state(rank).report;
  const std::vector<Wanted> wanted = wanted_by(the.state(rank));
  for (const std::string_view id : {"tag-mismatch", "communicator-mismatch", "source-mismatch"}) {
    for (const Wanted& one : wanted) {
      for (const ReportedMessage& message : report.unexpected) {
        if (message.kind != OpenKind::kUnexpected || wants_it(wanted, message)) continue;
        const char* const missed = miss(one, message, message.peer);
        if (missed == nullptr || missed != id) continue;
        tell(the, rank, one, message, message.peer, missed);
        return;
      }
    }
  }
}

/// Whether the rank is part of a circle of sends that has been reported.
bool is_told(const Case& the, int rank) {
  return std::any_of(the.findings->begin(), the.findings->end(), [&](const Finding& finding) {
    return (finding.id == "unsafe-exchange" || finding.id == "waits-for-itself") &&
           std::binary_search(finding.ranks.begin(), finding.ranks.end(), RankId{the.world, rank});
  });
}

}  // namespace

void find_unmatched_sends(const Case& the) {
  std::vector<int> senders;
  for (int rank = 0; rank < the.graph->size(); ++rank) {
    const RankState& state = the.state(rank);
    const bool sends = the.stuck(rank) && kind_of(function_of(state)) == CallKind::kSend;
    if (sends && !is_told(the, rank)) senders.push_back(rank);
  }
  if (senders.empty()) return;
  Finding& finding = the.add(
      "unmatched-send", senders,
      ranks_text(senders) + (senders.size() == 1 ? " sends what " : " send what ") + "no rank receives");
  finding.certain = std::all_of(senders.begin(), senders.end(), [&](int rank) { return the.certain(rank); });
  Lines lines(&finding);
  for (const int rank : senders) {
    const RankState& state = the.state(rank);
    std::string line = format("rank %d is in ", rank) + call_text(state);
    const int to = state.report->peer;
    if (to >= 0 && to < the.graph->size()) {
      line += format("; rank %d is ", to) + whereabouts(the.state(to));
    }
    lines.add(std::move(line));
  }
}

void find_mismatches(const Case& the) {
  constexpr int kToldMax = 4;
  int told = 0;
  for (int rank = 0; rank < the.graph->size() && told < kToldMax; ++rank) {
    if (!the.waits(rank)) continue;
    const std::size_t before = the.findings->size();
    look_at(the, rank);
    if (the.findings->size() > before) ++told;
  }
}

}  // namespace tasuki::doctor
