// A rank's call in words, and what kind of call it is: what groups, findings and messages are made of. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/diagnose.hpp"

namespace tasuki::doctor {

enum class CallKind : std::uint8_t {
  kOther,       // waits for no rank
  kSend,        // blocking
  kReceive,     //
  kBoth,        // MPI_Sendrecv
  kProbe,       //
  kWait,        // for requests
  kPoll,        // MPI_Test and the like: comes back in any case
  kCollective,  // also those that make communicators, windows and files
  kWindow,      // synchronisation of one-sided communication
  kOutside,     // another job is waited for
  kFinalize,
};

/// "MPI_Send"; MPI_Send_c counts as MPI_Send. Empty for kNone.
std::string_view name_of(Function function);
CallKind kind_of(Function function);

/// The call that a rank is in, or its last one: that of its report, where it has answered.
Function function_of(const RankState& state);

/// Whether it waits in MPI, as far as its report says.
bool waits(const RankState& state);

/// The report's entry about the communicator of the call; null: unknown.
const ReportedComm* comm_of(const RankReport& report);

/// "window forks" of "window forks, rank 1": so ranks that differ in it alone are one group.
std::string object_text(std::string_view description);

std::string comm_text(const ReportedComm& comm);  // its name, or "a communicator of 4 ranks"

/// What is said of a call's peer, apart from the call, so that ranks that differ in it alone are one group.
struct PeerText {
  std::string before;   // "source "; empty: the call has none
  std::string special;  // "any", "none", "in another job": told instead of a rank
  int peer = kNobody;   // in the communicator, or of the world where it is not known there
  std::string after;    // further arguments: ", tag 7, MPI_COMM_WORLD"
};
PeerText arguments_of(const RankState& state);

/// "MPI_Recv (source 3, tag 7, MPI_COMM_WORLD) at ring.c:42".
std::string call_text(const RankState& state);
/// The same with another peer: "rank + 1".
std::string call_text(const RankState& state, const std::string& peer);

/// " at ring.c:42", or nothing.
std::string place_text(const RankState& state, std::uint64_t site);

/// How the process ended: "was killed by signal 11 (Segmentation fault)", "exited with status 3".
std::string end_text(int wait_status);

bool is_send(OpenKind kind);
bool is_receive(OpenKind kind);

/// A request or a message: "receive from rank 1, tag 7, 80 bytes, MPI_COMM_WORLD, begun by MPI_Irecv at …".
std::string message_text(const RankState& state, const ReportedMessage& message);

/// "a message" of 8 bytes, tags and so on: "tag 7, MPI_COMM_WORLD".
std::string tag_text(std::int32_t tag);

/// "3.2 s", "12 s", "5 min".
std::string duration_text(std::int64_t ns);

/// "0-3, 7" of ascending numbers.
std::string numbers_text(const std::vector<int>& numbers);
std::string ranks_text(const std::vector<int>& ranks);  // "rank 3", "ranks 0-3, 7"

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

inline bool contains(const RankSet& set, int rank) {
  return rank >= 0 && rank < kReportedRanksMax && (set.words[rank / 64] >> (rank % 64) & 1) != 0;
}

}  // namespace tasuki::doctor
