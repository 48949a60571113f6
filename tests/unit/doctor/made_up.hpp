// Ranks that are made up: snapshots for the tests of the doctor, call by call.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>

#include "base/calls/function.hpp"
#include "doctor/diagnose.hpp"

namespace tasuki::doctor {

inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kNow = 1000 * kSecond;
inline constexpr std::uint64_t kWorldContext = 16;

/// A world of ranks that compute, which the tests then put into calls.
class MadeUp {
 public:
  explicit MadeUp(int size) {
    snapshot.at_ns = kNow;
    snapshot.worlds.resize(1);
    for (int rank = 0; rank < size; ++rank) {
      RankState state;
      state.pid = 1000 + rank;
      state.life = Life::kRunning;
      state.line.word = 7u << 16 | static_cast<std::uint64_t>(Function::kComm_rank);
      state.line.calls = 7;
      state.line.function = Function::kComm_rank;
      snapshot.worlds[0].ranks.push_back(state);
    }
  }

  RankState& rank(int number) { return snapshot.worlds[0].ranks[static_cast<std::size_t>(number)]; }
  int size() const { return static_cast<int>(snapshot.worlds[0].ranks.size()); }

  /// Puts a rank into a call on MPI_COMM_WORLD that waits, and has it answer.
  RankReport& waits(int number, Function function) {
    RankState& state = rank(number);
    state.line.function = function;
    state.line.inside = true;
    state.line.word = 8u << 16 | kInside | static_cast<std::uint64_t>(function);
    state.line.calls = 8;
    state.line.site = 0x4000;
    state.places[0x4000] = Place{"ring.c:42", "main", "/home/user/ring.c", 42, "/home/user/ring"};
    RankReport report{};
    report.answers = 1;
    report.word = state.line.word;
    report.site = state.line.site;
    report.since_ns = kNow - 12 * kSecond;
    report.awaits = Awaits::kAll;
    report.peer = report.root = kNobody;
    report.bytes = -1;
    report.count = -1;
    report.comms_total = 1;
    report.comms[0].context = kWorldContext;
    report.comms[0].size = size();
    report.comms[0].rank = number;
    snprintf(report.comms[0].name, sizeof report.comms[0].name, "MPI_COMM_WORLD");
    for (int member = 0; member < size() && member < kReportedRanksMax; ++member) {
      report.members.words[member / 64] |= std::uint64_t{1} << (member % 64);
    }
    state.report = report;
    return *state.report;
  }

  RankReport& message(int number, Function function, int peer, int tag) {
    RankReport& report = waits(number, function);
    report.peer = peer;
    report.tag = tag;
    rank(number).line.peer = peer == kAnybody ? -1 : peer;
    rank(number).line.tag = tag == kAnyTagOfReport ? -2 : tag;
    return report;
  }

  RankReport& collective(int number, Function function, std::uint64_t which, int root = kNobody) {
    RankReport& report = waits(number, function);
    report.collective = which;
    report.comms[0].collectives = which;
    report.root = root;
    rank(number).line.peer = root;
    return report;
  }

  /// A request that the call waits for, or a message that has come.
  static ReportedMessage entry(OpenKind kind, int peer, int tag, std::uint64_t context = kWorldContext) {
    ReportedMessage message{};
    message.kind = kind;
    message.peer = peer;
    message.tag = tag;
    message.bytes = 80;
    message.context = context;
    message.is_awaited = kind != OpenKind::kUnexpected;
    snprintf(message.comm_name, sizeof message.comm_name, "%s",
             context == kWorldContext ? "MPI_COMM_WORLD" : "rows");
    return message;
  }
  void open(int number, int place, const ReportedMessage& message) {
    rank(number).report->open[place] = message;
    rank(number).report->open_total = static_cast<std::uint32_t>(place) + 1;
  }
  void unexpected(int number, int place, const ReportedMessage& message) {
    rank(number).report->unexpected[place] = message;
    rank(number).report->unexpected_total = static_cast<std::uint32_t>(place) + 1;
  }

  void ends(int number, int wait_status, bool in_mpi) {
    RankState& state = rank(number);
    state.life = Life::kEnded;
    state.wait_status = wait_status;
    state.ended_in_mpi = in_mpi;
    state.report.reset();
  }

  /// The same a moment later, when no rank has moved.
  Snapshot later() const {
    Snapshot second = snapshot;
    second.at_ns += kSecond / 10;
    for (World& world : second.worlds) {
      for (RankState& state : world.ranks) {
        if (state.report) ++state.report->answers;
      }
    }
    return second;
  }

  Diagnosis diagnosis() const { return diagnose(snapshot, later()); }

  Snapshot snapshot;
};

/// The finding of that id; null: there is none.
inline const Finding* find(const Diagnosis& diagnosis, const std::string& id) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace tasuki::doctor
