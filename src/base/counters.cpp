// The table of performance variables.
#include "base/counters.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/algorithm_table.hpp"

namespace tasuki {
namespace {

using enum CounterClass;
using enum Verbosity;

constexpr const char* kStateItems[] = {"awake", "asleep"};
constexpr EnumRow kStates = {"progress_state", kStateItems, 2};

/// "bcast_binomial": what counts an algorithm is named by.
struct AlgorithmName {
  char text[64] = {};
};
constexpr std::array<AlgorithmName, kAlgorithms> kAlgorithmNames = [] {
  std::array<AlgorithmName, kAlgorithms> names;
  for (std::size_t number = 0; number < names.size(); ++number) {
    const AlgorithmRow& row = kAlgorithmTable[number];
    char* to = names[number].text;
    for (const char* part : {kOperationTable[static_cast<int>(row.operation)].name, "_", row.name}) {
      while (*part != '\0') *to++ = *part++;
    }
  }
  return names;
}();

constexpr CounterRow algorithm(int number) {
  return {kAlgorithmNames[static_cast<std::size_t>(number)].text,
          CounterClass::kCounter,
          Verbosity::kTunerDetail,
          Part::kCollectives,
          offsetof(Counters, algorithms) + sizeof(std::uint64_t) * static_cast<std::size_t>(number),
          kAlgorithmTable[number].description};
}

/// Where a number of one way stands in Counters.
constexpr std::size_t way(Way which, Traffic WayTraffic::*traffic, std::uint64_t Traffic::*number) {
  std::size_t offset = offsetof(Counters, ways) + sizeof(WayTraffic) * static_cast<std::size_t>(which);
  if (traffic == &WayTraffic::received) offset += offsetof(WayTraffic, received);
  if (traffic == &WayTraffic::message_first) offset += offsetof(WayTraffic, message_first);
  return offset + (number == &Traffic::bytes ? offsetof(Traffic, bytes) : 0);
}

// clang-format off: one line, one variable
constexpr CounterRow kRows[] = {
    {"sent_short_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kShort, &WayTraffic::sent, &Traffic::messages), "messages sent in slots of the ring"},
    {"sent_short_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kShort, &WayTraffic::sent, &Traffic::bytes), "bytes of the messages sent in slots of the ring"},
    {"received_short_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kShort, &WayTraffic::received, &Traffic::messages), "messages received in slots of the ring"},
    {"received_short_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kShort, &WayTraffic::received, &Traffic::bytes),
     "bytes of the messages received in slots of the ring"},
    {"message_first_short_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kShort, &WayTraffic::message_first, &Traffic::messages),
     "messages received in slots of the ring, before their receive"},
    {"message_first_short_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kShort, &WayTraffic::message_first, &Traffic::bytes),
     "bytes of the messages received in slots of the ring, before their receive"},
    {"sent_eager_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kEager, &WayTraffic::sent, &Traffic::messages),
     "messages sent at once through the ring, in two copies"},
    {"sent_eager_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kEager, &WayTraffic::sent, &Traffic::bytes),
     "bytes of the messages sent at once through the ring, in two copies"},
    {"received_eager_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kEager, &WayTraffic::received, &Traffic::messages),
     "messages received at once through the ring, in two copies"},
    {"received_eager_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kEager, &WayTraffic::received, &Traffic::bytes),
     "bytes of the messages received at once through the ring, in two copies"},
    {"message_first_eager_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kEager, &WayTraffic::message_first, &Traffic::messages),
     "messages received at once through the ring, in two copies, before their receive"},
    {"message_first_eager_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kEager, &WayTraffic::message_first, &Traffic::bytes),
     "bytes of the messages received at once through the ring, in two copies, before their receive"},
    {"sent_pull_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kPull, &WayTraffic::sent, &Traffic::messages),
     "messages sent as a descriptor, and the receiver copied"},
    {"sent_pull_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kPull, &WayTraffic::sent, &Traffic::bytes),
     "bytes of the messages sent as a descriptor, and the receiver copied"},
    {"received_pull_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kPull, &WayTraffic::received, &Traffic::messages),
     "messages received as a descriptor, and the receiver copied"},
    {"received_pull_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kPull, &WayTraffic::received, &Traffic::bytes),
     "bytes of the messages received as a descriptor, and the receiver copied"},
    {"message_first_pull_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kPull, &WayTraffic::message_first, &Traffic::messages),
     "messages received as a descriptor, and the receiver copied, before their receive"},
    {"message_first_pull_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kPull, &WayTraffic::message_first, &Traffic::bytes),
     "bytes of the messages received as a descriptor, and the receiver copied, before their receive"},
    {"sent_cooperative_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kCooperative, &WayTraffic::sent, &Traffic::messages),
     "messages sent as a descriptor, and both copied"},
    {"sent_cooperative_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kCooperative, &WayTraffic::sent, &Traffic::bytes),
     "bytes of the messages sent as a descriptor, and both copied"},
    {"received_cooperative_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kCooperative, &WayTraffic::received, &Traffic::messages),
     "messages received as a descriptor, and both copied"},
    {"received_cooperative_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kCooperative, &WayTraffic::received, &Traffic::bytes),
     "bytes of the messages received as a descriptor, and both copied"},
    {"message_first_cooperative_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kCooperative, &WayTraffic::message_first, &Traffic::messages),
     "messages received as a descriptor, and both copied, before their receive"},
    {"message_first_cooperative_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kCooperative, &WayTraffic::message_first, &Traffic::bytes),
     "bytes of the messages received as a descriptor, and both copied, before their receive"},
    {"sent_write_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kWrite, &WayTraffic::sent, &Traffic::messages),
     "messages sent into the buffer that the receiver had advertised"},
    {"sent_write_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kWrite, &WayTraffic::sent, &Traffic::bytes),
     "bytes of the messages sent into the buffer that the receiver had advertised"},
    {"received_write_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kWrite, &WayTraffic::received, &Traffic::messages),
     "messages received into the buffer that the receiver had advertised"},
    {"received_write_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kWrite, &WayTraffic::received, &Traffic::bytes),
     "bytes of the messages received into the buffer that the receiver had advertised"},
    {"sent_push_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kPush, &WayTraffic::sent, &Traffic::messages),
     "messages sent as a descriptor, and the sender copied"},
    {"sent_push_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kPush, &WayTraffic::sent, &Traffic::bytes),
     "bytes of the messages sent as a descriptor, and the sender copied"},
    {"received_push_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kPush, &WayTraffic::received, &Traffic::messages),
     "messages received as a descriptor, and the sender copied"},
    {"received_push_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kPush, &WayTraffic::received, &Traffic::bytes),
     "bytes of the messages received as a descriptor, and the sender copied"},
    {"message_first_push_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kPush, &WayTraffic::message_first, &Traffic::messages),
     "messages received as a descriptor, and the sender copied, before their receive"},
    {"message_first_push_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kPush, &WayTraffic::message_first, &Traffic::bytes),
     "bytes of the messages received as a descriptor, and the sender copied, before their receive"},
    {"sent_attach_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kAttach, &WayTraffic::sent, &Traffic::messages),
     "messages sent as a descriptor, and the kernel copied"},
    {"sent_attach_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kAttach, &WayTraffic::sent, &Traffic::bytes),
     "bytes of the messages sent as a descriptor, and the kernel copied"},
    {"received_attach_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kAttach, &WayTraffic::received, &Traffic::messages),
     "messages received as a descriptor, and the kernel copied"},
    {"received_attach_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kAttach, &WayTraffic::received, &Traffic::bytes),
     "bytes of the messages received as a descriptor, and the kernel copied"},
    {"message_first_attach_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kAttach, &WayTraffic::message_first, &Traffic::messages),
     "messages received as a descriptor, and the kernel copied, before their receive"},
    {"message_first_attach_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kAttach, &WayTraffic::message_first, &Traffic::bytes),
     "bytes of the messages received as a descriptor, and the kernel copied, before their receive"},
    {"sent_two_copy_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kTwoCopy, &WayTraffic::sent, &Traffic::messages),
     "messages sent as a descriptor, then in fragments through the ring"},
    {"sent_two_copy_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kTwoCopy, &WayTraffic::sent, &Traffic::bytes),
     "bytes of the messages sent as a descriptor, then in fragments through the ring"},
    {"received_two_copy_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kTwoCopy, &WayTraffic::received, &Traffic::messages),
     "messages received as a descriptor, then in fragments through the ring"},
    {"received_two_copy_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kTwoCopy, &WayTraffic::received, &Traffic::bytes),
     "bytes of the messages received as a descriptor, then in fragments through the ring"},
    {"message_first_two_copy_messages", kCounter, kUserDetail, Part::kProtocol,
     way(Way::kTwoCopy, &WayTraffic::message_first, &Traffic::messages),
     "messages received as a descriptor, then in fragments through the ring, before their receive"},
    {"message_first_two_copy_bytes", kAggregate, kUserDetail, Part::kProtocol,
     way(Way::kTwoCopy, &WayTraffic::message_first, &Traffic::bytes),
     "bytes of the messages received as a descriptor, then in fragments through the ring, before their "
     "receive"},
    {"sends_queued", kCounter, kTunerBasic, Part::kProtocol, offsetof(Counters, sends_queued),
     "messages that found the ring full, or others waiting before them"},
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

/// The rows above, and one for each algorithm.
constexpr std::array<CounterRow, std::size(kRows) + kAlgorithms> kTable = [] {
  std::array<CounterRow, std::size(kRows) + kAlgorithms> table{};
  std::copy(std::begin(kRows), std::end(kRows), table.begin());
  for (int number = 0; number < kAlgorithms; ++number)
    table[std::size(kRows) + static_cast<std::size_t>(number)] = algorithm(number);
  return table;
}();

}  // namespace

std::span<const CounterRow> counter_table() {
  return kTable;
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

const char* way_name(Way way) {
  constexpr const char* kNames[] = {"short", "eager", "pull",   "cooperative",
                                    "write", "push",  "attach", "two-copy"};
  static_assert(std::size(kNames) == kWays);
  return kNames[static_cast<int>(way)];
}

const char* counter_class_name(CounterClass kind) {
  constexpr const char* kNames[] = {"state",         "level",   "size",      "percentage", "high watermark",
                                    "low watermark", "counter", "aggregate", "timer",      "generic"};
  return kNames[static_cast<int>(kind) - 1];
}

}  // namespace tasuki
