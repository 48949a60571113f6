// From reports to clauses, and the fixed point.
#include "doctor/waits.hpp"

#include <algorithm>

namespace tasuki::doctor {
namespace {

Clause ranks_of(const RankSet& set, int size, int without) {
  Clause ranks;
  for (int rank = 0; rank < size && rank < kReportedRanksMax; ++rank) {
    if (rank != without && contains(set, rank)) ranks.push_back(rank);
  }
  return ranks;
}

Clause all_but(int size, int without) {
  Clause ranks;
  for (int rank = 0; rank < size; ++rank) {
    if (rank != without) ranks.push_back(rank);
  }
  return ranks;
}

class Reader {
 public:
  explicit Reader(Graph* graph) : graph_(*graph) {}

  Wait read(int rank) {
    Wait wait;
    const RankState& state = graph_.state(rank);
    wait.waits = doctor::waits(state);
    if (!wait.waits) return wait;
    const RankReport& report = *state.report;
    const Function function = function_of(state);
    if (kind_of(function) == CallKind::kOutside || report.outside[0] != '\0') wait.outside = true;
    for (const ReportedMessage& message : report.open) {
      if (message.kind != OpenKind::kNone && message.is_awaited != 0)
        add_message(rank, report, message, &wait);
    }
    Clause either = ranks_of(report.either, graph_.size(), rank);
    if (!either.empty()) wait.clauses.push_back(std::move(either));
    if (wait.clauses.empty() && !wait.outside) add_call(rank, report, function, &wait);
    if (report.awaits == Awaits::kAny) unite(&wait);
    if (report.open_total > static_cast<std::uint32_t>(kReportedMessages) && report.awaits == Awaits::kAny) {
      wait.outside = true;  // one that is not listed may be enough
    }
    if (wait.clauses.empty()) wait.outside = true;
    return wait;
  }

 private:
  /// All ranks that may belong to that communicator.
  Clause members(int rank, const RankReport& report, std::uint64_t context) const {
    const ReportedComm* const comm = comm_of(report);
    if (comm != nullptr && comm->context == context && graph_.size() <= kReportedRanksMax) {
      Clause known = ranks_of(report.members, graph_.size(), rank);
      if (!known.empty()) return known;
    }
    return all_but(graph_.size(), rank);
  }

  void add_message(int rank, const RankReport& report, const ReportedMessage& message, Wait* wait) const {
    switch (message.kind) {
      case OpenKind::kSend:
      case OpenKind::kReceive:
      case OpenKind::kReceiving:
      case OpenKind::kPartitionedSend:
      case OpenKind::kPartitionedReceive:
      case OpenKind::kPartitionedUnmatched:
        if (message.peer >= 0) {
          wait->clauses.push_back({message.peer});
        } else if (message.peer == kAnybody) {
          wait->clauses.push_back(members(rank, report, message.context));
          wait->clauses.back().push_back(rank);  // it may have sent to itself
        } else {
          wait->outside = true;
        }
        return;
      case OpenKind::kPartitionedUnready:
        return wait->clauses.push_back({rank});
      case OpenKind::kCollective:
      case OpenKind::kRma:
        add_lacking(rank, report, members(rank, report, message.context), wait);
        return;
      case OpenKind::kFile:
        if (message.peer >= 0) return wait->clauses.push_back({message.peer});
        if (message.peer == kAnybody)
          return add_lacking(rank, report, members(rank, report, message.context), wait);
        wait->outside = true;
        return;
      default:
        wait->outside = true;
    }
  }

  void add_call(int rank, const RankReport& report, Function function, Wait* wait) const {
    const CallKind kind = kind_of(function);
    switch (kind) {
      case CallKind::kSend:
      case CallKind::kReceive:
      case CallKind::kProbe:
        if (report.peer >= 0) {
          wait->clauses.push_back({report.peer});
        } else if (report.peer == kForeign) {
          wait->outside = true;
        } else {
          wait->clauses.push_back(everybody(rank, report));
          wait->clauses.back().push_back(rank);  // another thread of it
        }
        return;
      case CallKind::kCollective:
      case CallKind::kWindow:
        return add_lacking(rank, report, everybody(rank, report), wait);
      case CallKind::kFinalize:
        return add_lacking(rank, report, all_but(graph_.size(), rank), wait);
      default:
        wait->outside = true;
    }
  }

  Clause everybody(int rank, const RankReport& report) const {
    const ReportedComm* const comm = comm_of(report);
    return comm != nullptr ? members(rank, report, comm->context) : all_but(graph_.size(), rank);
  }

  /// The ranks that its report says it lacks; where it does not know them, all ranks that it may lack. What
  /// it lacks belongs to the operation that is waited for, unless others are under way beside it.
  void add_lacking(int rank, const RankReport& report, Clause all, Wait* wait) const {
    const Clause lacking = ranks_of(report.lacks, graph_.size(), rank);
    if (lacking.empty()) return wait->clauses.push_back(std::move(all));
    int operations = 0;
    for (const ReportedMessage& message : report.open) {
      const bool is_operation = message.kind == OpenKind::kCollective || message.kind == OpenKind::kRma;
      operations += is_operation && message.is_awaited == 0;
    }
    if (operations > 0 || report.open_total > static_cast<std::uint32_t>(kReportedMessages)) {
      return wait->clauses.push_back(lacking);
    }
    for (const int other : lacking) wait->clauses.push_back({other});
  }

  static void unite(Wait* wait) {
    Clause one;
    for (const Clause& clause : wait->clauses) one.insert(one.end(), clause.begin(), clause.end());
    std::sort(one.begin(), one.end());
    one.erase(std::unique(one.begin(), one.end()), one.end());
    wait->clauses.clear();
    if (!one.empty()) wait->clauses.push_back(one);
  }

  const Graph& graph_;
};

/// Whether a rank with such a wait may be woken by a rank that is not `stuck`. What is outside of the world
/// is enough where one of several is waited for; where all are, the clauses decide.
bool can_go_on(const Graph& graph, const Wait& wait, bool any, const std::vector<char>& stuck) {
  if (wait.clauses.empty() || (wait.outside && any)) return true;
  return std::all_of(wait.clauses.begin(), wait.clauses.end(), [&](const Clause& clause) {
    return std::any_of(clause.begin(), clause.end(),
                       [&](int rank) { return !graph.gone(rank) && !stuck[static_cast<std::size_t>(rank)]; });
  });
}

/// Frees the ranks that can go on, again and again, until none can.
void settle(const Graph& graph, std::vector<char>* stuck) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int rank = 0; rank < graph.size(); ++rank) {
      char& is_stuck = (*stuck)[static_cast<std::size_t>(rank)];
      if (is_stuck == 0) continue;
      const bool any = graph.state(rank).report->awaits == Awaits::kAny;
      if (!can_go_on(graph, graph.waits[static_cast<std::size_t>(rank)], any, *stuck)) continue;
      is_stuck = 0;
      changed = true;
    }
  }
}

/// Whether a rank waited in the same call before, and has not moved since.
bool is_still(const RankState& before, const RankState& now) {
  return waits(before) && waits(now) && before.pid == now.pid && before.report->word == now.report->word &&
         before.report->moves == now.report->moves && before.report->since_ns == now.report->since_ns &&
         before.report->answers != now.report->answers;
}

const ReportedPair* find_pair(const RankReport& report, int peer) {
  const std::uint32_t count = std::min<std::uint32_t>(report.pairs_total, kReportedPairs);
  const auto found = std::find_if(report.pairs, report.pairs + count,
                                  [&](const ReportedPair& pair) { return pair.peer == peer; });
  return found != report.pairs + count ? found : nullptr;
}

/// Packets between ranks that stand still.
void add_on_the_way(const std::vector<char>& still, Graph* graph) {
  for (int from = 0; from < graph->size(); ++from) {
    if (still[static_cast<std::size_t>(from)] == 0) continue;
    const RankReport& report = *graph->state(from).report;
    const std::uint32_t count = std::min<std::uint32_t>(report.pairs_total, kReportedPairs);
    for (std::uint32_t i = 0; i < count; ++i) {
      const ReportedPair& pair = report.pairs[i];
      if (pair.peer < 0 || pair.peer >= graph->size() || still[static_cast<std::size_t>(pair.peer)] == 0)
        continue;
      const RankReport& there = *graph->state(pair.peer).report;
      const ReportedPair* const back = find_pair(there, from);
      if (back == nullptr && there.pairs_total > static_cast<std::uint32_t>(kReportedPairs)) continue;
      const std::uint32_t come = back != nullptr ? back->come : 0;
      if (come != pair.sent || pair.waiting != 0)
        graph->on_the_way.push_back({from, pair.peer, pair.sent, come, pair.waiting, pair.still_ns});
    }
  }
}

/// Whether packets may be on their way of which nothing is known: a rank has more pairs than it lists, and
/// the sums do not fit either.
bool may_hide_packets(const std::vector<char>& still, const Graph& graph) {
  std::uint32_t under_way = 0;
  bool lists_all = true, sums_fit = true;
  for (int rank = 0; rank < graph.size(); ++rank) {
    if (still[static_cast<std::size_t>(rank)] == 0) {
      sums_fit = false;
      continue;
    }
    const RankReport& report = *graph.state(rank).report;
    lists_all = lists_all && report.pairs_total <= static_cast<std::uint32_t>(kReportedPairs);
    sums_fit = sums_fit && report.packets_waiting == 0;
    under_way += report.packets_sent - report.packets_come;
  }
  return !lists_all && (!sums_fit || under_way != 0);
}

}  // namespace

const Clause* Graph::stuck_clause(int rank) const {
  if (stuck[static_cast<std::size_t>(rank)] == 0) return nullptr;
  for (const Clause& clause : waits[static_cast<std::size_t>(rank)].clauses) {
    const bool hopeless = std::all_of(clause.begin(), clause.end(), [&](int other) {
      return gone(other) || stuck[static_cast<std::size_t>(other)] != 0;
    });
    if (hopeless) return &clause;
  }
  return nullptr;
}

Graph make_graph(const World* first, const World& world) {
  Graph graph;
  graph.world = &world;
  const std::size_t size = world.ranks.size();
  graph.waits.resize(size);
  for (std::size_t rank = 0; rank < size; ++rank) {
    const RankState& state = world.ranks[rank];
    if (!state.report || Graph::is_gone(state)) continue;
    const int comms = std::min<int>(static_cast<int>(state.report->comms_total), kReportedComms);
    for (int i = 0; i < comms; ++i) {
      const ReportedComm& comm = state.report->comms[i];
      graph.comms[comm.context].push_back({static_cast<int>(rank), comm.collectives});
    }
  }
  Reader reader(&graph);
  graph.stuck.resize(size);
  graph.certain.resize(size);
  for (std::size_t rank = 0; rank < size; ++rank) {
    graph.waits[rank] = reader.read(static_cast<int>(rank));
    const RankState& state = world.ranks[rank];
    const bool seen_twice = first != nullptr && rank < first->ranks.size();
    const bool still = seen_twice && is_still(first->ranks[rank], state);
    if (graph.waits[rank].waits && state.report->works_meanwhile != 0) continue;
    graph.stuck[rank] = graph.waits[rank].waits && (still || !seen_twice);
    graph.certain[rank] = still && state.report->is_multithreaded == 0;
  }
  add_on_the_way(graph.stuck, &graph);
  if (may_hide_packets(graph.stuck, graph)) graph.certain.assign(size, 0);
  if (!graph.on_the_way.empty()) {
    graph.stuck.assign(size, 0);
    graph.certain.assign(size, 0);
  }
  settle(graph, &graph.stuck);
  settle(graph, &graph.certain);
  return graph;
}

}  // namespace tasuki::doctor
