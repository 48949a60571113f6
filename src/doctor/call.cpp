// The words about calls.
#include "doctor/call.hpp"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <cstdarg>
#include <cstdio>

#include "base/calls/function.hpp"
#include "base/types.hpp"

namespace tasuki::doctor {
namespace {

template <std::size_t size>
bool is_one_of(std::string_view name, const std::string_view (&names)[size]) {
  for (const std::string_view each : names) {
    if (name == each) return true;
  }
  return false;
}

constexpr std::string_view kSends[] = {"Send", "Ssend", "Bsend", "Rsend"};
constexpr std::string_view kReceives[] = {"Recv", "Mrecv"};
constexpr std::string_view kWaits[] = {"Wait", "Waitall", "Waitany", "Waitsome", "Request_free"};
constexpr std::string_view kPolls[] = {"Iprobe", "Improbe", "Parrived", "Request_get_status"};
constexpr std::string_view kOutside[] = {"Comm_accept", "Comm_connect", "Comm_join", "Comm_spawn",
                                         "Comm_spawn_multiple"};
std::string_view without_prefix(std::string_view name) {
  return name.starts_with("MPI_") ? name.substr(4) : name;
}

/// A communicator's rank as the program gave it, or what it gave instead.
void tell_program_peer(std::int32_t peer, PeerText* text) {
  if (peer == kAnySource) {
    text->special = "any";
  } else if (peer == kProcNull) {
    text->special = "MPI_PROC_NULL";
  } else if (peer == kRoot) {
    text->special = "MPI_ROOT";
  } else if (peer >= 0) {
    text->peer = peer;
  } else {
    text->special = std::to_string(peer);
  }
}

void tell_world_peer(std::int32_t peer, PeerText* text) {
  if (peer == kAnybody) {
    text->special = "any";
  } else if (peer == kForeign) {
    text->special = "in another job";
  } else if (peer == kNobody) {
    text->before.clear();
  } else {
    text->peer = peer;
  }
}

/// The argument that names another rank.
std::string peer_word(Function function) {
  const std::string_view argument = function_facts(function).peer;
  if (argument == "dest") return "destination ";
  if (argument == "source") return "source ";
  if (argument == "root") return "root ";
  return argument.empty() ? "" : "target ";
}

void add(std::string* list, const std::string& what) {
  if (what.empty()) return;
  if (!list->empty()) *list += ", ";
  *list += what;
}

std::string amount_text(const RankReport& report) {
  if (report.count < 0 || report.type_name[0] == '\0') return {};
  return format("%lld x %s", static_cast<long long>(report.count), report.type_name);
}

int awaited_of(const RankReport& report) {
  int awaited = 0;
  for (const ReportedMessage& message : report.open) {
    awaited += message.kind != OpenKind::kNone && message.is_awaited;
  }
  return awaited;
}

/// What the report tells beside the peer.
std::string reported_arguments(const RankReport& report, CallKind kind) {
  std::string list;
  if (kind == CallKind::kSend || kind == CallKind::kReceive || kind == CallKind::kProbe) {
    add(&list, tag_text(report.tag));
  }
  if (kind != CallKind::kWait && kind != CallKind::kPoll) add(&list, amount_text(report));
  if (kind == CallKind::kCollective) add(&list, report.op_name);
  if (const int awaited = awaited_of(report); kind == CallKind::kWait && awaited > 0) {
    add(&list, format("%d open request%s", awaited, awaited == 1 ? "" : "s"));
  }
  if (report.object_name[0] != '\0') add(&list, object_text(report.object_name));
  const ReportedComm* const comm = comm_of(report);
  if (comm != nullptr && comm_text(*comm) != object_text(report.object_name)) add(&list, comm_text(*comm));
  return list;
}

}  // namespace

std::string format(const char* pattern, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, pattern);
  vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string_view name_of(Function function) {
  if (function == Function::kNone) return {};
  std::string_view name = function_name(function);
  if (name.ends_with("_c")) name.remove_suffix(2);
  return name;
}

CallKind kind_of(Function function) {
  const std::string_view name = without_prefix(name_of(function));
  if (name.starts_with("Sendrecv")) return CallKind::kBoth;
  if (is_one_of(name, kSends)) return CallKind::kSend;
  if (is_one_of(name, kReceives)) return CallKind::kReceive;
  if (name == "Probe" || name == "Mprobe") return CallKind::kProbe;
  if (is_one_of(name, kWaits)) return CallKind::kWait;
  if (name.starts_with("Test") || is_one_of(name, kPolls)) return CallKind::kPoll;
  if (is_one_of(name, kOutside)) return CallKind::kOutside;
  if (name == "Finalize") return CallKind::kFinalize;
  const FunctionFacts& facts = function_facts(function);
  if (!facts.may_wait) return CallKind::kOther;
  return facts.is_collective        ? CallKind::kCollective
         : name.starts_with("Win_") ? CallKind::kWindow
                                    : CallKind::kOther;
}

Function function_of(const RankState& state) {
  if (!state.report) return state.line.function;
  return tasuki::function_of(state.report->word);
}

bool waits(const RankState& state) {
  if (state.life == Life::kEnded || state.life == Life::kStarted || state.life == Life::kFinalized)
    return false;
  if (!state.report || (state.report->word & kInside) == 0) return false;
  const std::string_view name = name_of(function_of(state));
  return !name.empty() && kind_of(function_of(state)) != CallKind::kPoll &&
         state.report->awaits != Awaits::kNothing;
}

const ReportedComm* comm_of(const RankReport& report) {
  return report.comm_index < 0 ? nullptr : &report.comms[report.comm_index];
}

std::string object_text(std::string_view description) {
  return std::string(description.substr(0, description.rfind(", rank ")));
}

std::string comm_text(const ReportedComm& comm) {
  if (comm.name[0] != '\0') return object_text(comm.name);
  return format("%s of %d rank%s", comm.is_inter != 0 ? "an intercommunicator" : "a communicator", comm.size,
                comm.size == 1 ? "" : "s");
}

PeerText arguments_of(const RankState& state) {
  PeerText text;
  const Function function = function_of(state);
  const CallKind kind = kind_of(function);
  text.before = peer_word(function);
  const bool same_call = !state.report || state.report->word == state.line.word;
  if (!text.before.empty()) {
    if (kind == CallKind::kWindow || !same_call) {
      tell_world_peer(state.report ? state.report->peer : kNobody, &text);
    } else {
      tell_program_peer(state.line.peer, &text);
    }
  }
  if (state.report) {
    text.after = reported_arguments(*state.report, kind);
  } else if (kind == CallKind::kSend || kind == CallKind::kReceive || kind == CallKind::kProbe) {
    text.after = tag_text(state.line.tag == kAnyTag ? kAnyTagOfReport : state.line.tag);
  }
  if (!text.before.empty() && !text.after.empty()) text.after = ", " + text.after;
  return text;
}

std::string call_text(const RankState& state) {
  const PeerText arguments = arguments_of(state);
  return call_text(state, arguments.special.empty() ? std::to_string(arguments.peer) : arguments.special);
}

std::string call_text(const RankState& state, const std::string& peer) {
  const std::string_view name = name_of(function_of(state));
  const PeerText arguments = arguments_of(state);
  const std::string inner = (arguments.before.empty() ? "" : arguments.before + peer) + arguments.after;
  std::string text(name);
  if (!inner.empty()) text += " (" + inner + ")";
  return text + place_text(state, state.report ? state.report->site : state.line.site);
}

std::string place_text(const RankState& state, std::uint64_t site) {
  const auto found = state.places.find(site);
  return found == state.places.end() || found->second.text.empty() ? "" : " at " + found->second.text;
}

std::string end_text(int wait_status) {
  if (wait_status < 0) return "has ended";
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const char* const name = sigdescr_np(signal);
    return format("was killed by signal %d (%s)", signal, name != nullptr ? name : "unknown");
  }
  return format("exited with status %d", WEXITSTATUS(wait_status));
}

bool is_send(OpenKind kind) {
  return kind == OpenKind::kSend || kind == OpenKind::kPartitionedSend ||
         kind == OpenKind::kPartitionedUnready;
}

bool is_receive(OpenKind kind) {
  return kind == OpenKind::kReceive || kind == OpenKind::kReceiving ||
         kind == OpenKind::kPartitionedReceive || kind == OpenKind::kPartitionedUnmatched;
}

std::string message_text(const RankState& state, const ReportedMessage& message) {
  const char* what = "request";
  switch (message.kind) {
    case OpenKind::kSend:
      what = "send to";
      break;
    case OpenKind::kReceive:
    case OpenKind::kReceiving:
      what = "receive from";
      break;
    case OpenKind::kUnexpected:
      what = "message from";
      break;
    case OpenKind::kCollective:
      what = "collective operation";
      break;
    case OpenKind::kPartitionedSend:
      what = "partitioned send to";
      break;
    case OpenKind::kPartitionedUnready:
      what = "partitioned send, which waits for MPI_Pready of this rank, to";
      break;
    case OpenKind::kPartitionedReceive:
      what = "partitioned receive, which waits for MPI_Pready, from";
      break;
    case OpenKind::kPartitionedUnmatched:
      what = "partitioned receive, which waits for MPI_Psend_init, from";
      break;
    case OpenKind::kRma:
      what = "one-sided operation";
      break;
    case OpenKind::kFile:
      what = "file operation";
      break;
    case OpenKind::kGeneralized:
      what = "generalized request";
      break;
    case OpenKind::kNone:
      break;
  }
  std::string text = what;
  if (message.kind == OpenKind::kFile && message.peer >= 0) text += ", which waits for";
  if (message.peer >= 0) text += format(" rank %d", message.peer);
  if (message.peer == kAnybody && message.kind != OpenKind::kFile) text += " any rank";
  if (message.peer == kForeign) text += " another job";
  if (is_send(message.kind) || is_receive(message.kind) || message.kind == OpenKind::kUnexpected) {
    add(&text, tag_text(message.tag));
    if (message.bytes >= 0) add(&text, format("%lld bytes", static_cast<long long>(message.bytes)));
  }
  add(&text, message.comm_name);
  const std::string_view begun = name_of(static_cast<Function>(message.function));
  if (!begun.empty()) {
    add(&text, "begun by " + std::string(begun) + place_text(state, message.site));
  }
  return text;
}

std::string tag_text(std::int32_t tag) {
  return tag == kAnyTagOfReport ? "any tag" : format("tag %d", tag);
}

std::string duration_text(std::int64_t ns) {
  const double seconds = static_cast<double>(ns) * 1e-9;
  if (seconds < 0.1) return "0.1 s";
  if (seconds < 10) return format("%.1f s", seconds);
  if (seconds < 600) return format("%.0f s", seconds);
  if (seconds < 36000) return format("%.0f min", seconds / 60);
  return format("%.0f h", seconds / 3600);
}

std::string numbers_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    add(&text, std::to_string(numbers[i]));
    if (last == i + 1) add(&text, std::to_string(numbers[last]));
    if (last > i + 1) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string ranks_text(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + numbers_text(ranks);
}

}  // namespace tasuki::doctor
