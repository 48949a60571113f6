// Counters: what a rank counts about itself, and the one table that describes it to tools: the performance
// variables of MPI_T (src/tool), `mpiexec --info` and docs/variables.md. A new one is a field and a line in
// counters.cpp.
//
// Thread safety: written plainly by the thread that holds the process lock, or by the rank's only thread: on
// the short path a count is one instruction. Tools may read from other threads: read_counter() loads
// atomically, and an aligned 64-bit store is never torn on the machines that Tasuki runs on.
//
// Invariants:
//  1. Counts only grow. Levels go up and down; a level's highest value stands in the field behind its own,
//  and only Level writes both.
//  2. Counters live on through MPI_Init and MPI_Finalize: they are handed from one Process to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/variables/variable.hpp"
#include "base/variables/ways.hpp"

namespace tasuki {

/// A quantity that rises and falls, and its highest value since a tool last asked.
struct Level {
  std::uint64_t value = 0;
  std::uint64_t highest = 0;

  void add(std::uint64_t amount = 1) {
    value += amount;
    if (value > highest) highest = value;
  }
  void subtract(std::uint64_t amount = 1) { value -= amount; }
};

/// Messages and their bytes.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t message_bytes) {
    ++messages;
    bytes += message_bytes;
  }
};

/// What went one way. A message is counted where it was sent and where it was received (in the same process,
/// when it went to itself). The receive came first for those received and not in `message_first`: the library
/// took them out of the ring when a receive for them was open.
struct WayTraffic {
  Traffic sent;
  Traffic received;
  Traffic message_first;  // of `received`: those that came before their receive
};

/// How long the queues of a Matching are.
struct QueueLevels {
  Level posted_receives;
  Level unexpected_messages;
};

/// Time spent, and bytes moved in it.
struct PhaseSum {
  std::uint64_t ns = 0;
  std::uint64_t bytes = 0;

  void add(std::int64_t spent_ns, std::int64_t moved_bytes) {
    ns += static_cast<std::uint64_t>(spent_ns);
    bytes += static_cast<std::uint64_t>(moved_bytes);
  }
};

/// What goes to and from files (src/io). The phases are those of collective accesses
/// (io/file/phase_times.hpp); the time of a phase that overlaps with another one counts in both.
struct FileCounts {
  std::uint64_t collective_accesses = 0;
  std::uint64_t two_phase_accesses = 0;  // of these
  std::uint64_t cycles = 0;              // of two-phase accesses
  PhaseSum read, exchange, write;
  Traffic independent_reads;   // as `messages`: accesses
  Traffic independent_writes;  //
  std::uint64_t sieved_windows = 0;
  std::uint64_t owner_requests = 0;  // messages to the owner of a shared file pointer or of range locks
};

/// The last collective of the program's, and what the model said when its algorithm was chosen. Algorithms
/// are numbered from 1, in the order of base/variables/algorithm_table.hpp; 0: none.
struct LastCollective {
  std::uint64_t algorithm = 0;
  std::uint64_t runner_up = 0;  // the cheapest of the others
  std::uint64_t predicted_ns = 0;
  std::uint64_t runner_up_ns = 0;
};

/// The values of `progress_state`.
enum ProgressState : std::uint64_t { kAwake = 0, kAsleep = 1 };

/// Room for the algorithms of the collectives (base/variables/algorithm_table.hpp), so that a new one changes
/// no offset.
inline constexpr int kAlgorithmsMax = 192;

struct Counters {
  // The short path writes these and the next two of `ways`, which are those of the short messages: two lines.
  QueueLevels queues;
  std::uint64_t receive_requests = 0;
  std::uint64_t polls = 0;
  WayTraffic ways[kWays];

  std::uint64_t send_requests = 0;
  std::uint64_t sends_queued = 0;
  std::uint64_t sends_held_back = 0;
  std::uint64_t sends_set_aside = 0;
  Level set_aside_bytes;
  std::uint64_t line_samples = 0;
  std::uint64_t line_changes = 0;
  Level ranks_of_far_lines;

  Level unexpected_bytes;
  std::uint64_t unexpected_arrivals = 0;

  Level buffered_bytes;
  std::uint64_t buffer_bytes = 0;

  std::uint64_t yields = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t asleep_ns = 0;
  std::uint64_t late_wakes = 0;
  std::uint64_t state = kAwake;

  std::uint64_t collectives = 0;
  std::uint64_t algorithms[kAlgorithmsMax] = {};  // by number in base/variables/algorithm_table.hpp
  LastCollective last_collective;

  FileCounts files;

  std::uint64_t communicators = 0;
  std::uint64_t errors = 0;

  std::uint64_t init_ns = 0;
  std::uint64_t finalize_ns = 0;
  std::uint64_t ranks = 0;
  std::uint64_t packet_bytes_max = 0;

  WayTraffic& of(Way way) { return ways[static_cast<int>(way)]; }
  const WayTraffic& of(Way way) const { return ways[static_cast<int>(way)]; }

  /// One message, at the end that sends it, once its way is known.
  void count_sent(Way way, std::uint64_t bytes) { of(way).sent.add(bytes); }
  /// The same at the end that receives it. What came first is the message when no receive was open for it.
  void count_received(Way way, std::uint64_t bytes, bool message_first) {
    of(way).received.add(bytes);
    if (message_first) of(way).message_first.add(bytes);
  }
};
static_assert(sizeof(Counters) % sizeof(std::uint64_t) == 0);

/// The classes of performance variables (MPI 15.3.7).
enum class CounterClass : int {
  kState = 1,
  kLevel,
  kSize,
  kPercentage,
  kHighWatermark,
  kLowWatermark,
  kCounter,
  kAggregate,
  kTimer,
  kGeneric,
};

/// A performance variable. `offset` is the field's in Counters: of a watermark that of its Level, of a
/// percentage that of the part (the whole stands at `offset_of_whole`), of one bound to a communicator none.
struct CounterRow {
  const char* name;
  CounterClass kind;
  Verbosity verbosity;
  Part part;
  std::size_t offset;
  const char* description;
  Bind bind = Bind::kNoObject;
  const EnumRow* states = nullptr;
  std::size_t offset_of_whole = 0;
};

/// All performance variables, in the order of their indices.
std::span<const CounterRow> counter_table();

/// What the counter `name` is called now (base/variables/former_names.hpp).
std::string present_counter(const std::string& name);

/// The name of a class, as people say it: "counter", "high watermark".
const char* counter_class_name(CounterClass kind);

/// Adds the counts of an earlier Process of this rank, and takes over its highest levels.
void hand_on_counters(Counters& from, Counters* to);

inline std::uint64_t& counter_at(Counters& counters, std::size_t offset) {
  return *reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(&counters) + offset);
}
inline std::uint64_t read_counter(Counters& counters, std::size_t offset) {
  return __atomic_load_n(&counter_at(counters, offset), __ATOMIC_RELAXED);
}

}  // namespace tasuki
