// Deadlocks: circles in the graph of stuck ranks.
#include <algorithm>
#include <functional>

#include "doctor/findings.hpp"

namespace tasuki::doctor {
namespace {

/// Whether both wait in the same collective call: then neither waits for the other.
bool meet(const RankState& one, const RankState& other) {
  const ReportedComm* const comm = comm_of(*one.report);
  const ReportedComm* const there = comm_of(*other.report);
  return one.report->collective != 0 && comm != nullptr && there != nullptr &&
         comm->context == there->context && one.report->collective == other.report->collective &&
         function_of(one) == function_of(other);
}

/// The ranks that a stuck rank waits for and that are stuck themselves.
std::vector<std::vector<int>> edges_of(const Graph& graph) {
  std::vector<std::vector<int>> edges(static_cast<std::size_t>(graph.size()));
  for (int rank = 0; rank < graph.size(); ++rank) {
    const Clause* const clause = graph.stuck_clause(rank);
    if (clause == nullptr) continue;
    std::vector<int>& to = edges[static_cast<std::size_t>(rank)];
    for (const int other : *clause) {
      if (graph.stuck[static_cast<std::size_t>(other)] != 0) to.push_back(other);
    }
    if (clause->size() > 1) std::erase(to, rank);  // a receive from any rank: it would not send to itself now
    const auto present = [&](int other) { return meet(graph.state(rank), graph.state(other)); };
    const bool told = std::all_of(to.begin(), to.end(), present);
    if (!told) to.erase(std::remove_if(to.begin(), to.end(), present), to.end());
  }
  return edges;
}

/// The strongly connected components (Tarjan's algorithm, without recursion).
class Components {
 public:
  explicit Components(const std::vector<std::vector<int>>& edges)
      : edges_(edges), index_(edges.size(), 0), low_(edges.size(), 0), on_stack_(edges.size(), 0) {
    for (std::size_t node = 0; node < edges.size(); ++node) {
      if (index_[node] == 0) visit(static_cast<int>(node));
    }
  }
  std::vector<std::vector<int>> found;  // each ascending

 private:
  struct Frame {
    int node;
    std::size_t next;
  };

  void enter(int node) {
    const auto at = static_cast<std::size_t>(node);
    index_[at] = low_[at] = ++count_;
    on_stack_[at] = 1;
    stack_.push_back(node);
    frames_.push_back({node, 0});
  }

  void visit(int root) {
    enter(root);
    while (!frames_.empty()) {
      const int node = frames_.back().node;
      const auto at = static_cast<std::size_t>(node);
      if (frames_.back().next < edges_[at].size()) {
        const int other = edges_[at][frames_.back().next++];
        const auto there = static_cast<std::size_t>(other);
        if (index_[there] == 0) {
          enter(other);
        } else if (on_stack_[there] != 0) {
          low_[at] = std::min(low_[at], index_[there]);
        }
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty()) {
        const auto above = static_cast<std::size_t>(frames_.back().node);
        low_[above] = std::min(low_[above], low_[at]);
      }
      if (low_[at] == index_[at]) take(node);
    }
  }

  void take(int root) {
    std::vector<int> ranks;
    int node = -1;
    do {
      node = stack_.back();
      stack_.pop_back();
      on_stack_[static_cast<std::size_t>(node)] = 0;
      ranks.push_back(node);
    } while (node != root);
    std::sort(ranks.begin(), ranks.end());
    found.push_back(std::move(ranks));
  }

  const std::vector<std::vector<int>>& edges_;
  std::vector<int> index_, low_;
  std::vector<char> on_stack_;
  std::vector<int> stack_;
  std::vector<Frame> frames_;
  int count_ = 0;
};

/// A shortest way from the component's first rank back to it.
std::vector<int> circle_in(const std::vector<int>& component, const std::vector<std::vector<int>>& edges) {
  const int start = component.front();
  std::vector<int> from(edges.size(), -1);
  std::vector<int> queue = {start};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const int other : edges[static_cast<std::size_t>(queue[i])]) {
      if (other == start) {
        std::vector<int> way;
        for (int at = queue[i]; at != start; at = from[static_cast<std::size_t>(at)]) way.push_back(at);
        way.push_back(start);
        std::reverse(way.begin(), way.end());
        return way;
      }
      const bool inside = std::binary_search(component.begin(), component.end(), other);
      if (!inside || from[static_cast<std::size_t>(other)] >= 0) continue;
      from[static_cast<std::size_t>(other)] = queue[i];
      queue.push_back(other);
    }
  }
  return {};
}

/// Those outside of the component whose wait leads to it.
std::vector<int> behind(const std::vector<int>& component, const std::vector<std::vector<int>>& edges) {
  std::vector<char> reaches(edges.size(), 0);
  for (const int rank : component) reaches[static_cast<std::size_t>(rank)] = 1;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t rank = 0; rank < edges.size(); ++rank) {
      if (reaches[rank] != 0) continue;
      const bool leads = std::any_of(edges[rank].begin(), edges[rank].end(), [&](int other) {
        return reaches[static_cast<std::size_t>(other)] != 0;
      });
      if (leads) reaches[rank] = 1, changed = true;
    }
  }
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < edges.size(); ++rank) {
    const bool own = std::binary_search(component.begin(), component.end(), static_cast<int>(rank));
    if (reaches[rank] != 0 && !own) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

/// What the links of a circle are made of.
struct Links {
  bool send = false, receive = false, collective = false, window = false, finalize = false;
  bool request = false;  // a receive among those is a request
  bool unready = false;  // a partitioned send lacks MPI_Pready
};

/// Whether `rank` waits for rank `to` because of a message that another call began.
bool is_link(const RankState& state, const ReportedMessage& message, int rank, int to) {
  if (message.kind == OpenKind::kNone || message.is_awaited == 0) return false;
  if (message.kind == OpenKind::kPartitionedUnready) return to == rank;
  const bool began_here = static_cast<Function>(message.function) == function_of(state);
  const bool one_of_two = kind_of(function_of(state)) == CallKind::kBoth;
  return (message.peer == to || message.peer == kAnybody) && (!began_here || one_of_two);
}

void add_link(const RankState& state, int rank, int to, Links* links) {
  const CallKind kind = kind_of(function_of(state));
  links->send |= kind == CallKind::kSend;
  links->receive |= kind == CallKind::kReceive || kind == CallKind::kProbe;
  links->collective |= kind == CallKind::kCollective;
  links->window |= kind == CallKind::kWindow;
  links->finalize |= kind == CallKind::kFinalize;
  for (const ReportedMessage& message : state.report->open) {
    if (!is_link(state, message, rank, to)) continue;
    links->send |= is_send(message.kind);
    links->receive |= is_receive(message.kind);
    links->request |= is_receive(message.kind);
    links->unready |= message.kind == OpenKind::kPartitionedUnready;
    links->collective |= message.kind == OpenKind::kCollective;
  }
}

bool only_sends(const Links& links) {
  return links.send && !links.receive && !links.collective && !links.window && !links.finalize;
}

const char* hint_for(const Links& links, bool alone) {
  if (alone && links.unready)
    return "a partitioned send ends once MPI_Pready has named all of its partitions";
  if (alone) return "a blocking call to itself needs its partner begun before it: MPI_Isend or MPI_Irecv";
  if (only_sends(links)) {
    return "all of them send first, and a large message (and every MPI_Ssend) waits for its receive: let one "
           "side receive first, or use MPI_Sendrecv, or begin the receive with MPI_Irecv before";
  }
  if (links.finalize) {
    return "compare what is sent with what is received, and who calls which collective: something was left "
           "out "
           "before MPI_Finalize, or is too much here";
  }
  if (links.window) {
    return "take locks in the same order on all ranks; each MPI_Win_start needs its MPI_Win_post, each fence "
           "its "
           "partners";
  }
  if (links.collective && (links.send || links.receive)) {
    return "a collective call waits for all ranks of its communicator: what they need from this rank must be "
           "sent before it";
  }
  if (links.collective) {
    return "all ranks of a communicator must call its collectives in the same order, and two communicators "
           "in the same order on all ranks that they share";
  }
  if (links.request) return "compare their sends with their receives: ranks, tags, communicators, how many";
  if (links.receive && !links.send) {
    return "all of them receive before they send: let one of them send first, or use MPI_Sendrecv or "
           "MPI_Irecv";
  }
  return "";
}

std::string link_text(const Case& the, int rank, int to) {
  const RankState& state = the.state(rank);
  std::string text = format("rank %d waits for rank %d in ", rank, to) + call_text(state);
  for (const ReportedMessage& message : state.report->open) {
    if (!is_link(state, message, rank, to)) continue;
    if (kind_of(function_of(state)) == CallKind::kBoth) break;
    return text + ": " + message_text(state, message);
  }
  return text;
}

/// Whether a finding about collective calls that do not fit says already why these ranks wait.
bool is_explained(const Case& the, const std::vector<int>& component) {
  return std::any_of(the.findings->begin(), the.findings->end(), [&](const Finding& finding) {
    if (!finding.is_deadlock || !finding.id.ends_with("-mismatch")) return false;
    return std::all_of(component.begin(), component.end(), [&](int rank) {
      return std::binary_search(finding.ranks.begin(), finding.ranks.end(), RankId{the.world, rank});
    });
  });
}

/// Whether it is known which message of theirs went astray.
bool is_astray(const Case& the, const std::vector<int>& component) {
  return std::any_of(the.findings->begin(), the.findings->end(), [&](const Finding& finding) {
    return finding.id.ends_with("-mismatch") && finding.ranks.front().world == the.world &&
           std::binary_search(component.begin(), component.end(), finding.ranks.front().rank);
  });
}

std::string headline_of(const Case& the, const std::vector<int>& component) {
  if (component.size() == 1) return ranks_text(component) + " waits for itself";
  std::vector<int> done;
  std::vector<int> waiting;
  for (const int rank : component) {
    const bool finalizes = kind_of(function_of(the.state(rank))) == CallKind::kFinalize;
    (finalizes ? done : waiting).push_back(rank);
  }
  if (!done.empty() && !waiting.empty()) {
    return ranks_text(waiting) + (waiting.size() == 1 ? " waits for " : " wait for ") + ranks_text(done) +
           (done.size() == 1 ? ", which is" : ", which are") + " in MPI_Finalize already";
  }
  return ranks_text(component) + (component.size() == 2 ? " wait for each other" : " wait for one another");
}

void tell_circle(const Case& the, const std::vector<int>& component,
                 const std::vector<std::vector<int>>& edges) {
  if (is_explained(the, component)) return;
  const std::vector<int> circle = circle_in(component, edges);
  Links links;
  for (std::size_t i = 0; i < circle.size(); ++i) {
    add_link(the.state(circle[i]), circle[i], circle[(i + 1) % circle.size()], &links);
  }
  const bool alone = component.size() == 1;
  const char* const id = alone               ? "waits-for-itself"
                         : only_sends(links) ? "unsafe-exchange"
                         : links.finalize    ? "peer-ended"
                                             : "deadlock-cycle";
  Finding& finding = the.add(id, component, "deadlock: " + headline_of(the, component),
                             is_astray(the, component) ? "" : hint_for(links, alone));
  finding.is_deadlock = true;
  finding.certain =
      std::all_of(component.begin(), component.end(), [&](int rank) { return the.certain(rank); });
  {
    Lines lines(&finding);
    for (std::size_t i = 0; i < circle.size(); ++i) {
      lines.add(link_text(the, circle[i], circle[(i + 1) % circle.size()]));
    }
  }
  const std::vector<int> others = behind(component, edges);
  if (!others.empty()) {
    finding.text.push_back(ranks_text(others) + (others.size() == 1 ? " waits" : " wait") + " for them");
  }
}

}  // namespace

void find_cycles(const Case& the) {
  const std::vector<std::vector<int>> edges = edges_of(*the.graph);
  Components components(edges);
  std::sort(components.found.begin(), components.found.end());
  for (const std::vector<int>& component : components.found) {
    const auto first = static_cast<std::size_t>(component.front());
    const bool loop =
        std::find(edges[first].begin(), edges[first].end(), component.front()) != edges[first].end();
    if (component.size() > 1 || loop) tell_circle(the, component, edges);
  }
}

}  // namespace tasuki::doctor
