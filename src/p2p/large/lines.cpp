// LargeMessages: how far cache lines travel between this rank and others, and what follows (line_pace.hpp).
#include <algorithm>

#include "node/node.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"
#include "progress/progress.hpp"

namespace tasuki {

bool LargeMessages::is_streamed(int endpoint, Count bytes, Lines (LargeMessages::*lines)(int)) {
  const DistanceTable& table = table_for(endpoint);
  if (bytes < table.stream_bytes_min) return false;
  return !table.streams_far_lines_only || (this->*lines)(endpoint) != Lines::kNear;
}

/// The receiver has seen them, or else this rank the ones that come from it.
Lines LargeMessages::lines_to(int endpoint) {
  Peer& to = peer(endpoint);
  const Lines told = to.out != nullptr ? to.out->lines.load(std::memory_order_relaxed) : Lines::kUnknown;
  return told != Lines::kUnknown ? told : to.pace.lines();
}

Lines LargeMessages::lines_from(int endpoint) {
  Peer& from = peer(endpoint);
  if (from.pace.lines() != Lines::kUnknown || from.out == nullptr) return from.pace.lines();
  return from.out->lines.load(std::memory_order_relaxed);
}

Lines LargeMessages::lines_between(int endpoint) {
  return is_local(endpoint) ? lines_from(endpoint) : Lines::kUnknown;
}

/// A long message is to be sent: whether a receive of one from that rank is open, as it is where both send at
/// the same time. It may be over already where that one was first, so an exchange is remembered for some
/// looks, of which a message takes up to three.
void LargeMessages::note_exchange(int endpoint) {
  constexpr int kKeptFor = 8;
  Peer& to = peer(endpoint);
  const ReceiveRequest* const posted = p2p_.receives.find(to.posted);
  const bool is_open = posted != nullptr && posted->queue != nullptr;
  to.exchanges = is_open ? kKeptFor : std::max(0, to.exchanges - 1);
  to.sent_since_posted = true;
}

bool LargeMessages::write_sample(int endpoint, Count bytes) {
  if (!is_measured(endpoint, bytes)) return false;
  if (LinePace::is_sampled(peer(endpoint).opened++)) write_line(endpoint, bytes);
  return true;
}

void LargeMessages::look_at_sample(int endpoint, Count bytes) {
  if (is_measured(endpoint, bytes) && LinePace::is_sampled(peer(endpoint).arrived++))
    load_line(endpoint, bytes);
}

void LargeMessages::write_line(int endpoint, Count bytes) {
  if (!is_measured(endpoint, bytes)) return;
  Peer& to = peer(endpoint);
  PairPage* const shared = page(to.out, p2p_.link->self(), endpoint);
  if (shared != nullptr) shared->sample.store(++to.written, std::memory_order_relaxed);
}

void LargeMessages::load_line(int endpoint, Count bytes) {
  if (!is_measured(endpoint, bytes)) return;
  Peer& from = peer(endpoint);
  PairPage* const shared = page(from.in, endpoint, p2p_.link->self());
  if (shared == nullptr) return;
  const Progress& progress = *p2p_.process.progress;
  const std::int64_t before_ns = progress.now_ns(), begin_ns = progress.now_ns();
  const std::uint32_t number = shared->sample.load(std::memory_order_acquire);
  const std::int64_t end_ns = progress.now_ns();
  // The line is here already where it has not been written, as by a rank with other settings.
  if (number == from.loaded) return;
  from.loaded = number;
  add_sample(endpoint, (end_ns - begin_ns) - (begin_ns - before_ns));
}

void LargeMessages::add_sample(int endpoint, std::int64_t ns) {
  Peer& from = peer(endpoint);
  Counters& counters = p2p_.process.counters;
  ++counters.line_samples;
  const bool were_far = from.pace.lines() == Lines::kFar;
  if (!from.pace.add(ns)) return;
  const bool are_far = from.pace.lines() == Lines::kFar;
  ++counters.line_changes;
  if (are_far) counters.ranks_of_far_lines.add();
  if (were_far) counters.ranks_of_far_lines.subtract();
  PairPage* const shared = page(from.in, endpoint, p2p_.link->self());
  if (shared != nullptr) shared->lines.store(from.pace.lines(), std::memory_order_relaxed);
  if (p2p_.explainer != nullptr)
    p2p_.explainer->lines(endpoint, are_far, ns, table_for(endpoint).stream_bytes_min);
}

bool LargeMessages::is_measured(int endpoint, Count bytes) {
  if (bytes < LinePace::kBytesMin || !is_local(endpoint)) return false;
  const DistanceTable& table = table_for(endpoint);
  return table.streams_far_lines_only && bytes >= table.stream_bytes_min;
}

}  // namespace tasuki
