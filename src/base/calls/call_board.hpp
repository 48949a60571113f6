// CallBoard: the call that a rank is in, in memory that mpiexec reads at any time, also when the rank hangs
// or has died.
//
// It has two parts. The CallLine is written by every MPI call, at the cost of a few stores: which function,
// from where, with which arguments. The meaning of those arguments (the communicator's name, the peer's rank
// in MPI_COMM_WORLD), open requests and messages not yet received are in the RankReport. A rank writes it on
// demand, when it waits: while it sleeps, or polls in vain, it compares `asked` with the number of its last
// answer.
//
// Ownership: the rank writes the fields of a line and the report; mpiexec, which asks, writes `asked`. Thread
// safety: all fields of a line are stored and loaded relaxed. A reader that finds the same `word` before and
// after has read fields of one call where the rank stands still in it; of one that goes on they may be of the
// call before or after. The report is published under a version (publish_report(), read_report()). With
// MPI_THREAD_MULTIPLE the line shows the call that was begun last; the report shows the one that waits.
//
// Nothing here is trusted by its reader: numbers are checked and texts ended before they are used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "generated/base/calls/function_list.hpp"

namespace tasuki {

/// What every call writes. The arguments are those of the function of `word` only where that function has
/// such an argument (base/calls/function.hpp); else they are an earlier call's.
struct alignas(64) CallLine {
  std::atomic<std::uint64_t> word;   // calls begun << 16 | kInside while in it | a Function
  std::atomic<std::uint64_t> site;   // where the call returns to, in the rank's address space
  std::atomic<std::uint64_t> comm;   // the communicator, window or file: an address that means something to
                                     // the rank alone
  std::atomic<std::int32_t> peer;    // destination, source, target or root, in the communicator
  std::atomic<std::int32_t> tag;     //
  std::atomic<std::int64_t> count;   // elements
  std::atomic<std::uint64_t> type;   // as `comm`
  std::atomic<std::uint64_t> op;     // as `comm`
  std::atomic<std::uint64_t> moves;  // polls that moved something: of a rank that stands still
                                     // it stays as it is, as `word` does
};
static_assert(sizeof(CallLine) == 64);

inline constexpr std::uint64_t kInside = 0x8000;
inline constexpr std::uint64_t kFunctionBits = 0x7fff;

/// The word of the next call, after `word`.
constexpr std::uint64_t next_call(std::uint64_t word, Function function) {
  return (word | kInside | kFunctionBits) + 1 + (kInside | static_cast<std::uint64_t>(function));
}

/// Whether the call after `word` polls first: every 128th does.
constexpr bool is_poll_due(std::uint64_t word) {
  return (word & std::uint64_t{127} << 16) == 0;
}

/// The function of a word.
constexpr Function function_of(std::uint64_t word) {
  return static_cast<Function>(word & kFunctionBits);
}
/// The call that a rank is in, or was in last. The line is this rank's own.
inline Function function_of(const CallLine& line) {
  return function_of(line.word.load(std::memory_order_relaxed));
}
/// The call that a rank is in; kNone: it is in none.
inline Function present_call(const CallLine& line) {
  const std::uint64_t word = line.word.load(std::memory_order_relaxed);
  return (word & kInside) != 0 ? function_of(word) : Function::kNone;
}

/// The values of a line, kept so that they can be put back after another call.
struct LineValues {
  std::uint64_t word, site, comm, type, op;
  std::int64_t count;
  std::int32_t peer, tag;
};
LineValues values_of(const CallLine& line);
void put_back(const LineValues& values, CallLine* line);

inline constexpr int kNobody = -1000;  // of a peer: there is none
inline constexpr int kAnybody = -1001;
inline constexpr int kForeign = -1002;  // a process of another job
inline constexpr int kAnyTagOfReport = -1003;

/// An open operation: a request, or a message that has arrived and is not yet received.
enum class OpenKind : std::uint8_t {
  kNone,
  kSend,        // any mode
  kReceive,     // posted, not matched
  kReceiving,   // matched, its data are under way
  kCollective,  // nonblocking or persistent
  kPartitionedSend,
  kPartitionedUnready,    // a send with partitions that its own rank has not made ready
  kPartitionedReceive,    // waits for MPI_Pready
  kPartitionedUnmatched,  // a receive whose MPI_Psend_init has not come
  kRma,
  kFile,
  kGeneralized,
  kUnexpected,  // a message without a receive
};

struct ReportedMessage {
  std::uint64_t context;  // of its communicator, see ReportedComm
  std::int64_t bytes;
  std::uint64_t site;      // where its call returns to; 0: unknown
  std::int32_t peer;       // of the world, kAnybody, kForeign
  std::int32_t tag;        // or kAnyTagOfReport
  std::uint16_t function;  // that began it; 0: unknown
  OpenKind kind;
  std::uint8_t is_awaited;  // the present call waits for it
  char comm_name[36];       // ends with NUL, cut
};
inline constexpr int kReportedMessages = 24;

inline constexpr int kReportedRanksMax = 1024;  // of the world, that a set of ranks can name
struct RankSet {
  std::uint64_t words[kReportedRanksMax / 64];
};

struct ReportedComm {
  std::uint64_t context;
  std::uint64_t collectives;  // begun on it by this rank, of all kinds, creations of communicators too
  std::int32_t size;          // of its local group
  std::int32_t rank;          // of this one in it
  std::uint32_t is_inter;
  char name[68];  // ends with NUL, cut; empty: it has none
};
inline constexpr int kReportedComms = 16;

/// Packets between this rank and one on another host. What one of two has sent and the other has not is on
/// its way, or lost.
struct ReportedPair {
  std::int32_t peer;      // of the world
  std::uint32_t sent;     // to it, modulo 2^32
  std::uint32_t come;     // from it, modulo 2^32
  std::uint32_t waiting;  // what waits for it besides: copies to and from its memory, a first packet
  std::int64_t still_ns;  // for so long none of this has changed; 0: unknown
};
inline constexpr int kReportedPairs = 128;

/// Of what is awaited: all, or one of them is enough.
enum class Awaits : std::uint32_t { kNothing, kAll, kAny };

/// Whom the rank waits for beside requests that are `is_awaited`.
struct RankReport {
  std::uint64_t answers;  // the number that was asked; the first report answers 1
  std::uint64_t word;     // CallLine::word of the call that waits
  std::uint64_t site;
  std::uint64_t frames[8];  // return addresses above `site`, inner ones first; 0: no more
  std::int64_t since_ns;    // CLOCK_MONOTONIC: when this wait began
  std::uint64_t moves;      // as in the line, when this was written
  Awaits awaits;
  std::int32_t peer;         // of the world; destination, source, target; or kNobody …
  std::int32_t root;         // of the world, or kNobody
  std::int32_t tag;          // or kAnyTagOfReport
  std::int32_t comm_index;   // of comms: the call's communicator (or that of its window or file); -1: none
  std::int64_t count;        // elements
  std::int64_t bytes;        // -1: unknown
  std::uint64_t types;       // a hash of the type signature of `count` elements; 0: unknown
  std::uint64_t collective;  // its number on its communicator, from 1; 0: this is no collective call
  char type_name[36];        // ends with NUL, cut
  char op_name[36];
  char object_name[64];  // window or file, if it is one
  char outside[200];     // what is waited for that is no rank of this world, in words; empty: nothing
  RankSet members;       // of the call's communicator, both groups; ranks of the world
  RankSet lacks;         // of members: those that this rank knows it waits for; empty: it does not know
  RankSet either;        // one of these has to act, or the call does not go on; empty: it does not know
  std::uint32_t comms_total;
  std::uint32_t open_total;
  std::uint32_t unexpected_total;
  std::uint16_t is_multithreaded;  // MPI_THREAD_MULTIPLE: while this call waits another thread may act
  std::uint16_t works_meanwhile;   // so may an access to a file, whose transfers go on by themselves
  std::uint32_t pairs_total;       // with ranks of the world on other hosts
  std::uint32_t packets_sent;      // to all of them, modulo 2^32
  std::uint32_t packets_come;      // from all of them
  std::uint32_t packets_waiting;   // as ReportedPair::waiting, of all
  ReportedPair pairs[kReportedPairs];
  ReportedComm comms[kReportedComms];             // used last first
  ReportedMessage open[kReportedMessages];        // awaited ones first
  ReportedMessage unexpected[kReportedMessages];  // the oldest first
};
static_assert(std::is_trivially_copyable_v<RankReport> && sizeof(RankReport) % sizeof(std::uint64_t) == 0);

/// A file whose code the rank has in its address space: with it an address is known as a place in that file
/// also when the rank is gone.
struct MappedFile {
  std::uint64_t begin;   // addresses of the code
  std::uint64_t end;     //
  std::uint64_t offset;  // of `begin` in the file
  std::uint64_t inode;   // another one at that path is another file
  char path[224];        // ends with NUL
};
static_assert(sizeof(MappedFile) == 256);
inline constexpr int kMappedFiles = 16;

struct CallBoard {
  CallLine line;
  alignas(64) std::atomic<std::uint64_t> asked;        // writer: mpiexec; counts up
  alignas(64) std::atomic<std::uint64_t> version;      // writer: the rank; odd while it writes the report
  RankReport report;                                   // writer: the rank, through publish_report()
  alignas(64) std::atomic<std::uint32_t> files_known;  // writer: the rank, once, when it joins; release
  MappedFile files[kMappedFiles];  // writer: the rank, before files_known (mapped_files.hpp)
};

/// Writes a report; does nothing if another thread is writing one.
void publish_report(const RankReport& from, CallBoard* board);
/// Reads one; false where none was published or the writer is always in between (it has died there).
bool read_report(const CallBoard& board, RankReport* to);

}  // namespace tasuki
