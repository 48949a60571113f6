// The extract of the counters, and the way through shared memory.
#include "base/variables/statistics.hpp"

#include <algorithm>
#include <iterator>

#include "base/system/shared_words.hpp"

namespace tasuki {
namespace {

void add(const Traffic& from, Traffic* to) {
  to->messages += from.messages;
  to->bytes += from.bytes;
}

void add(const WayTraffic& from, WayTraffic* to) {
  add(from.sent, &to->sent);
  add(from.received, &to->received);
  add(from.message_first, &to->message_first);
}

}  // namespace

WayTraffic RunStatistics::all() const {
  WayTraffic sum;
  for (const WayTraffic& way : ways) tasuki::add(way, &sum);
  return sum;
}

void RunStatistics::add(const RunStatistics& other) {
  for (int way = 0; way < kWays; ++way) tasuki::add(other.ways[way], &ways[way]);
  running_ns = std::max(running_ns, other.running_ns);
  unexpected_bytes_highest = std::max(unexpected_bytes_highest, other.unexpected_bytes_highest);
  unexpected_messages_highest = std::max(unexpected_messages_highest, other.unexpected_messages_highest);
  sends_set_aside += other.sends_set_aside;
  line_changes += other.line_changes;
  ranks_of_far_lines += other.ranks_of_far_lines;
  collectives += other.collectives;
  polls += other.polls;
  sleeps += other.sleeps;
  asleep_ns += other.asleep_ns;
  errors += other.errors;
  heap = std::max(heap, other.heap);
  finished = std::min(finished, other.finished);
}

RunStatistics statistics_of(const Counters& counters) {
  RunStatistics statistics;
  std::copy(std::begin(counters.ways), std::end(counters.ways), statistics.ways);
  statistics.unexpected_bytes_highest = counters.unexpected_bytes.highest;
  statistics.unexpected_messages_highest = counters.queues.unexpected_messages.highest;
  statistics.sends_set_aside = counters.sends_set_aside;
  statistics.line_changes = counters.line_changes;
  statistics.ranks_of_far_lines = counters.ranks_of_far_lines.value;
  statistics.collectives = counters.collectives;
  statistics.polls = counters.polls;
  statistics.sleeps = counters.sleeps;
  statistics.asleep_ns = counters.asleep_ns;
  statistics.errors = counters.errors;
  return statistics;
}

void store(const RunStatistics& from, RunStatistics* shared) {
  store_words(from, shared);
}

RunStatistics load(const RunStatistics& shared) {
  RunStatistics statistics;
  load_words(shared, &statistics);
  return statistics;
}

}  // namespace tasuki
