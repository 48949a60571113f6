// The table of performance variables.
#include "base/variables/counters.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>

#include "base/variables/algorithm_table.hpp"
#include "base/variables/former_names.hpp"

namespace tasuki {
namespace {

using enum CounterClass;
using enum Verbosity;

constexpr const char* kStateItems[] = {"awake", "asleep"};
constexpr EnumRow kStates = {"progress_state", kStateItems, 2};

/// Writes `parts` one behind the other. REQUIRES: room for them.
constexpr void join(char* to, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    while (*part != '\0') *to++ = *part++;
  }
}

/// "bcast_binomial": what counts an algorithm is named by.
struct AlgorithmName {
  char text[64] = {};
};
constexpr std::array<AlgorithmName, kAlgorithms> kAlgorithmNames = [] {
  std::array<AlgorithmName, kAlgorithms> names;
  for (std::size_t number = 0; number < names.size(); ++number) {
    const AlgorithmRow& row = kAlgorithmTable[number];
    join(names[number].text, {kOperationTable[static_cast<int>(row.operation)].name, "_", row.name});
  }
  return names;
}();

/// What `collective_algorithm` says: none, or one of them.
constexpr std::array<const char*, kAlgorithms + 1> kAlgorithmItems = [] {
  std::array<const char*, kAlgorithms + 1> items{"none"};
  for (std::size_t number = 0; number < kAlgorithms; ++number)
    items[number + 1] = kAlgorithmNames[number].text;
  return items;
}();
constexpr EnumRow kAlgorithmStates = {"collective_algorithm", kAlgorithmItems.data(), kAlgorithms + 1};

constexpr CounterRow algorithm(int number) {
  return {kAlgorithmNames[static_cast<std::size_t>(number)].text,
          CounterClass::kCounter,
          Verbosity::kTunerDetail,
          Part::kCollectives,
          offsetof(Counters, algorithms) + sizeof(std::uint64_t) * static_cast<std::size_t>(number),
          kAlgorithmTable[number].description};
}

/// What is counted of a way: messages and bytes, sent, received, and received before their receive.
constexpr int kRowsOfWay = 6;
constexpr int kWayRows = [] {
  int rows = 0;
  for (const WayRow& way : kWayTable) rows += way.message_first ? kRowsOfWay : kRowsOfWay - 2;
  return rows;
}();

struct WayTexts {
  char name[64] = {};
  char description[128] = {};
};

struct WayCounter {
  WayTexts texts;
  bool bytes = false;
  std::size_t offset = 0;
};

constexpr std::array<WayCounter, kWayRows> kWayCounters = [] {
  constexpr const char* kNames[] = {"sent_", "received_", "message_first_"};
  constexpr const char* kVerbs[] = {"messages sent ", "messages received ", "messages received "};
  constexpr std::size_t kTraffic[] = {offsetof(WayTraffic, sent), offsetof(WayTraffic, received),
                                      offsetof(WayTraffic, message_first)};
  std::array<WayCounter, kWayRows> counters;
  std::size_t next = 0;
  for (std::size_t way = 0; way < kWays; ++way) {
    const WayRow& row = kWayTable[way];
    for (int number = 0; number < (row.message_first ? kRowsOfWay : kRowsOfWay - 2); ++number) {
      const int what = number / 2;
      WayCounter& one = counters[next++];
      one.bytes = number % 2 == 1;
      one.offset = offsetof(Counters, ways) + sizeof(WayTraffic) * way + kTraffic[what] +
                   (one.bytes ? offsetof(Traffic, bytes) : 0);
      join(one.texts.name, {kNames[what], row.counter, one.bytes ? "_bytes" : "_messages"});
      join(one.texts.description, {one.bytes ? "bytes of the " : "", kVerbs[what], row.how,
                                   what == 2 ? ", before their receive" : ""});
    }
  }
  return counters;
}();

constexpr CounterRow way_counter(const WayCounter& one) {
  return {one.texts.name,       one.bytes ? kAggregate : kCounter, kUserDetail, Part::kProtocol, one.offset,
          one.texts.description};
}

// clang-format off: one line, one variable
constexpr CounterRow kRows[] = {
    {"sends_queued", kCounter, kTunerBasic, Part::kProtocol, offsetof(Counters, sends_queued),
     "messages that found the ring full, or others waiting before them"},
    {"sends_held_back", kCounter, kTunerBasic, Part::kProtocol, offsetof(Counters, sends_held_back),
     "messages that would have gone at once, but waited for their receives: the peer kept too much of this "
     "rank's"},
    {"sends_set_aside", kCounter, kTunerBasic, Part::kProtocol, offsetof(Counters, sends_set_aside),
     "blocking sends whose receivers were late, so that their messages were copied and MPI_Send returned"},
    {"set_aside_bytes", kLevel, kTunerBasic, Part::kProtocol, offsetof(Counters, set_aside_bytes),
     "bytes of messages that are set aside and not received yet"},
    {"set_aside_bytes_highest", kHighWatermark, kTunerBasic, Part::kProtocol,
     offsetof(Counters, set_aside_bytes), "the highest number of bytes that were set aside"},
    {"line_samples", kCounter, kTunerBasic, Part::kProtocol, offsetof(Counters, line_samples),
     "cache lines of other ranks whose loads were timed, to see how far lines travel"},
    {"line_changes", kCounter, kTunerBasic, Part::kProtocol, offsetof(Counters, line_changes),
     "how often another rank's lines were found to travel far, or no longer: while they do long messages go "
     "past the caches"},
    {"ranks_of_far_lines", kLevel, kTunerBasic, Part::kProtocol, offsetof(Counters, ranks_of_far_lines),
     "ranks whose lines travel far to this one, though their processors are said to share a cache"},
    {"buffered_bytes", kLevel, kUserDetail, Part::kProtocol, offsetof(Counters, buffered_bytes),
     "bytes that messages of the buffered mode take of the attached buffers (not of automatic ones)"},
    {"buffered_bytes_highest", kHighWatermark, kUserDetail, Part::kProtocol,
     offsetof(Counters, buffered_bytes),
     "the highest number of bytes that messages of the buffered mode took"},
    {"buffered_share", kPercentage, kUserDetail, Part::kProtocol, offsetof(Counters, buffered_bytes),
     "the share of the attached buffers that is taken; 0 when none is attached", Bind::kNoObject, nullptr,
     offsetof(Counters, buffer_bytes)},
    {"posted_receives", kLevel, kUserDetail, Part::kMatching, offsetof(Counters, queues.posted_receives),
     "receives that wait for their message"},
    {"posted_receives_highest", kHighWatermark, kUserDetail, Part::kMatching,
     offsetof(Counters, queues.posted_receives),
     "the highest number of receives that waited for their message"},
    {"unexpected_messages", kLevel, kUserBasic, Part::kMatching,
     offsetof(Counters, queues.unexpected_messages), "messages that have arrived and wait for their receive"},
    {"unexpected_messages_highest", kHighWatermark, kUserBasic, Part::kMatching,
     offsetof(Counters, queues.unexpected_messages),
     "the highest number of messages that waited for their receive"},
    {"unexpected_bytes", kLevel, kUserBasic, Part::kMatching, offsetof(Counters, unexpected_bytes),
     "bytes kept for messages that wait for their receive"},
    {"unexpected_bytes_highest", kHighWatermark, kUserBasic, Part::kMatching,
     offsetof(Counters, unexpected_bytes), "the highest number of bytes kept for messages that waited"},
    {"unexpected_arrivals", kCounter, kUserBasic, Part::kMatching, offsetof(Counters, unexpected_arrivals),
     "messages that arrived before their receive"},
    {"polls", kCounter, kTunerDetail, Part::kProgress, offsetof(Counters, polls),
     "sweeps of the progress loop"},
    {"yields", kCounter, kTunerDetail, Part::kProgress, offsetof(Counters, yields),
     "times that a waiting rank offered its processor to others"},
    {"sleeps", kCounter, kTunerBasic, Part::kProgress, offsetof(Counters, sleeps),
     "times that a waiting rank fell asleep"},
    {"asleep_time", kTimer, kTunerBasic, Part::kProgress, offsetof(Counters, asleep_ns),
     "seconds that the rank slept while it waited"},
    {"late_wakes", kCounter, kTunerDetail, Part::kProgress, offsetof(Counters, late_wakes),
     "sleeps that ended by time although what the rank waited for had come: wake-ups that were lost"},
    {"progress_state", kState, kTunerDetail, Part::kProgress, offsetof(Counters, state),
     "whether the rank sleeps in a call that waits", Bind::kNoObject, &kStates},
    {"send_requests", kLevel, kUserDetail, Part::kObjects, offsetof(Counters, send_requests),
     "requests of sends in use, those of blocking calls and of collectives too"},
    {"receive_requests", kLevel, kUserDetail, Part::kObjects, offsetof(Counters, receive_requests),
     "requests of receives in use, those of blocking calls and of collectives too"},
    {"communicators", kLevel, kUserDetail, Part::kObjects, offsetof(Counters, communicators),
     "communicators in use, those of the library too"},
    {"errors", kCounter, kUserDetail, Part::kObjects, offsetof(Counters, errors),
     "errors that calls returned or raised"},
    {"collectives", kCounter, kUserBasic, Part::kCollectives, offsetof(Counters, collectives),
     "collectives started, those that make communicators too"},
    {"comm_collectives", kCounter, kUserDetail, Part::kCollectives, 0,
     "collectives started on the communicator", Bind::kComm},
    {"collective_algorithm", kState, kTunerDetail, Part::kCollectives,
     offsetof(Counters, last_collective.algorithm), "which algorithm the last collective took",
     Bind::kNoObject, &kAlgorithmStates},
    {"collective_runner_up", kState, kTunerDetail, Part::kCollectives,
     offsetof(Counters, last_collective.runner_up),
     "of the other algorithms of the last collective that for which the shortest time is predicted; none "
     "where none was to be chosen",
     Bind::kNoObject, &kAlgorithmStates},
    {"collective_predicted_ns", kLevel, kTunerDetail, Part::kCollectives,
     offsetof(Counters, last_collective.predicted_ns),
     "nanoseconds that were predicted for the algorithm of the last collective"},
    {"collective_runner_up_ns", kLevel, kTunerDetail, Part::kCollectives,
     offsetof(Counters, last_collective.runner_up_ns), "nanoseconds that were predicted for its runner-up"},
    {"io_collective_accesses", kCounter, kUserBasic, Part::kFiles,
     offsetof(Counters, files.collective_accesses), "collective accesses to files"},
    {"io_two_phase_accesses", kCounter, kUserBasic, Part::kFiles,
     offsetof(Counters, files.two_phase_accesses),
     "collective accesses to files that went through aggregators"},
    {"io_cycles", kCounter, kUserDetail, Part::kFiles, offsetof(Counters, files.cycles),
     "cycles of the collective accesses that went through aggregators"},
    {"io_read_time", kTimer, kUserBasic, Part::kFiles, offsetof(Counters, files.read.ns),
     "seconds in which collective accesses read files"},
    {"io_read_bytes", kAggregate, kUserBasic, Part::kFiles, offsetof(Counters, files.read.bytes),
     "bytes that collective accesses read from files"},
    {"io_exchange_time", kTimer, kUserBasic, Part::kFiles, offsetof(Counters, files.exchange.ns),
     "seconds in which collective accesses moved data between the ranks and the aggregators"},
    {"io_exchange_bytes", kAggregate, kUserBasic, Part::kFiles, offsetof(Counters, files.exchange.bytes),
     "bytes that collective accesses moved between the ranks and the aggregators"},
    {"io_write_time", kTimer, kUserBasic, Part::kFiles, offsetof(Counters, files.write.ns),
     "seconds in which collective accesses wrote files"},
    {"io_write_bytes", kAggregate, kUserBasic, Part::kFiles, offsetof(Counters, files.write.bytes),
     "bytes that collective accesses wrote to files"},
    {"io_independent_reads", kCounter, kUserBasic, Part::kFiles,
     offsetof(Counters, files.independent_reads.messages), "independent accesses that read files"},
    {"io_independent_read_bytes", kAggregate, kUserBasic, Part::kFiles,
     offsetof(Counters, files.independent_reads.bytes), "bytes of data that independent accesses read"},
    {"io_independent_writes", kCounter, kUserBasic, Part::kFiles,
     offsetof(Counters, files.independent_writes.messages), "independent accesses that wrote files"},
    {"io_independent_write_bytes", kAggregate, kUserBasic, Part::kFiles,
     offsetof(Counters, files.independent_writes.bytes), "bytes of data that independent accesses wrote"},
    {"io_sieved_windows", kCounter, kUserDetail, Part::kFiles, offsetof(Counters, files.sieved_windows),
     "windows of files that were moved whole for the sake of the pieces in them"},
    {"io_owner_requests", kCounter, kUserDetail, Part::kFiles, offsetof(Counters, files.owner_requests),
     "messages to the rank that keeps a shared file pointer or locks on ranges of files between nodes"},
    {"init_time", kTimer, kUserBasic, Part::kEnvironment, offsetof(Counters, init_ns),
     "seconds in MPI_Init, with waiting for the other ranks"},
    {"finalize_time", kTimer, kUserBasic, Part::kEnvironment, offsetof(Counters, finalize_ns),
     "seconds in MPI_Finalize, with waiting for the other ranks"},
    {"ranks", kSize, kUserBasic, Part::kEnvironment, offsetof(Counters, ranks),
     "processes in MPI_COMM_WORLD; 0 outside MPI_Init and MPI_Finalize"},
    {"packet_bytes_max", kSize, kTunerDetail, Part::kTransport, offsetof(Counters, packet_bytes_max),
     "the most bytes of a message that one packet takes; 0 outside MPI_Init and MPI_Finalize"},
};
// clang-format on

/// Those of the ways, the rows above, and one for each algorithm.
constexpr std::array<CounterRow, kWayRows + std::size(kRows) + kAlgorithms> kTable = [] {
  std::array<CounterRow, kWayRows + std::size(kRows) + kAlgorithms> table{};
  std::size_t next = 0;
  for (const WayCounter& one : kWayCounters) table[next++] = way_counter(one);
  for (const CounterRow& row : kRows) table[next++] = row;
  for (int number = 0; number < kAlgorithms; ++number) table[next++] = algorithm(number);
  return table;
}();

}  // namespace

std::span<const CounterRow> counter_table() {
  return kTable;
}

std::string present_counter(const std::string& name) {
  for (const OperationRow& operation : kOperationTable) {
    for (const FormerName& row : kFormerAlgorithms) {
      const std::string counted = operation.name + std::string("_");
      if (name == counted + row.former) return counted + row.present;
    }
  }
  return present_name(name.c_str());
}

void hand_on_counters(Counters& from, Counters* to) {
  for (const CounterRow& row : kTable) {
    if (row.bind != Bind::kNoObject) continue;
    const std::uint64_t value =
        read_counter(from, row.offset + (row.kind == kHighWatermark ? offsetof(Level, highest) : 0));
    if (row.kind == kCounter || row.kind == kAggregate || row.kind == kTimer) {
      counter_at(*to, row.offset) += value;
    } else if (row.kind == kHighWatermark) {
      std::uint64_t& highest = counter_at(*to, row.offset + offsetof(Level, highest));
      highest = std::max(highest, value);
    }
  }
}

const char* counter_class_name(CounterClass kind) {
  constexpr const char* kNames[] = {"state",         "level",   "size",      "percentage", "high watermark",
                                    "low watermark", "counter", "aggregate", "timer",      "generic"};
  return kNames[static_cast<int>(kind) - 1];
}

}  // namespace tasuki
