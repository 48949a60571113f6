// Advertised receives: a receiver shows a posted receive to the rank that it waits for, which may then write
// to it at once. protocol/pair_page.hpp says what the two ranks share and why that keeps MPI's order.
#include <algorithm>
#include <utility>

#include "node/node.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"

namespace tasuki {
namespace {

using Line = AdvertisedReceive;

constexpr int kLooksMax = kAdvertisedReceives;  // at receives that were posted earlier
constexpr std::size_t kWaitedForMax = 4;        // senders
/// From here on a nonblocking send leaves the copy to the rank that waits.
constexpr Count kLeftBytesMin = 64 * kKibi;

constexpr std::uint32_t generation_of(std::uint32_t state) {
  return state >> 2;
}
constexpr std::uint32_t state_word(std::uint32_t generation, Line::State state) {
  return generation << 2 | state;
}
constexpr Line::State state_of(std::uint32_t state) {
  return static_cast<Line::State>(state & 3);
}

bool tags_overlap(int one, int other) {
  return one == other || one == kAnyTag || other == kAnyTag;
}

bool is_advertised(const PostedReceive& posted) {
  const auto& receive = static_cast<const ReceiveRequest&>(posted);
  return receive.large != nullptr && receive.large->line >= 0;
}

}  // namespace

PairPage* LargeMessages::page(PairPage*& known, int from, int to) {
  if (known == nullptr) known = reinterpret_cast<PairPage*>(p2p_.process.node.pair_page(from, to));
  return known;
}

// ----- the sender ------------------------------------------------------------------------------------------

bool LargeMessages::may_claim(int endpoint, Count bytes) {
  if (!is_local(endpoint)) return may_claim_far(endpoint, bytes);
  const PairPage* const shared = page(peer(endpoint).out, p2p_.link->self(), endpoint);
  if (shared == nullptr) return false;
  __builtin_prefetch(&shared->receives[0], 1);  // likely to be claimed
  if ((shared->open.load(std::memory_order_relaxed) & kAllLines) == 0) return false;
  return bytes >= table_for(endpoint).sender_write_bytes_min;
}

LargeMessages::Advertised LargeMessages::claim(SendRequest& send) {
  if (!is_local(send.endpoint)) return claim_far(send);
  Peer& to = peer(send.endpoint);
  if (send.cursor.total_bytes() >= LinePace::kBytesMin) note_exchange(send.endpoint);
  PairPage* const shared = page(to.out, p2p_.link->self(), send.endpoint);
  if (shared == nullptr) return Advertised::kNone;
  const DistanceTable& table = table_for(send.endpoint);
  const Count total = send.cursor.total_bytes();
  const std::uint64_t word = shared->open.load(std::memory_order_acquire);
  std::uint32_t open = static_cast<std::uint32_t>(word) & kAllLines;
  const auto serial_end = static_cast<std::uint32_t>(word >> 32);
  if (open == 0 || total < table.sender_write_bytes_min) return Advertised::kNone;
  if (shared->processed.load(std::memory_order_acquire) != p2p_.peer(send.endpoint).sent)
    return Advertised::kNone;

  Line* best = nullptr;
  std::uint32_t best_state = 0;
  std::uint32_t best_serial = 0;
  for (; open != 0; open &= open - 1) {
    Line& line = shared->receives[__builtin_ctz(open)];
    const std::uint32_t state = line.state.load(std::memory_order_acquire);
    const std::int32_t tag = line.tag.load(std::memory_order_relaxed);
    if (state_of(state) != Line::kOpen || (tag != send.envelope.tag && tag != kAnyTag) ||
        line.context.load(std::memory_order_relaxed) != send.envelope.context) {
      continue;
    }
    const std::uint32_t serial = line.serial.load(std::memory_order_relaxed);
    if (static_cast<std::int32_t>(serial - serial_end) >= 0) continue;  // younger than this look
    if (best != nullptr && static_cast<std::int32_t>(serial - best_serial) > 0) continue;
    best = &line;
    best_state = state;
    best_serial = serial;
  }
  if (best == nullptr) return Advertised::kNone;

  const StridedBuffer there{best->address.load(std::memory_order_relaxed),
                            best->stride.load(std::memory_order_relaxed),
                            best->block_bytes.load(std::memory_order_relaxed)};
  const auto capacity = static_cast<Count>(best->capacity.load(std::memory_order_relaxed));
  const RequestId receive = best->receive.load(std::memory_order_relaxed);
  const Count bytes = std::min(total, capacity);
  if (!reach(send.endpoint, there, bytes)) return Advertised::kNone;
  LargeEnd& end = end_of(send);
  if (!end.here.exists() && !there.dense()) return Advertised::kNone;
  end.streamed = is_streamed_to(send.endpoint, bytes);
  const bool alone = send.mode == SendMode::kBuffered || end.streamed;
  if (!alone && (word & kWaitsBit) != 0 && end.global != 0 && p2p_.table.get &&
      bytes >= table.waiting_get_bytes_min && bytes < table.cooperative_bytes_min) {
    return Advertised::kReceiverWaits;
  }
  if (!best->state.compare_exchange_strong(best_state, state_word(generation_of(best_state), Line::kClaimed),
                                           std::memory_order_acq_rel, std::memory_order_relaxed)) {
    return Advertised::kNone;
  }
  retire(best->copy);
  end.there = there;
  end.bytes = bytes;
  end.line = static_cast<int>(best - shared->receives);
  end.generation = ++to.claims[static_cast<std::size_t>(end.line)];
  end.copy = &best->copy;
  end.part = CooperativeCopyEnd(end.copy, end.generation, bytes, true);
  end.is_left =
      !end.streamed && send.returns_soon && bytes >= kLeftBytesMin && end.global != 0 && !end.here.listed();
  const Count first = alone ? bytes : end.is_left ? 0 : bytes / p2p_.table.first_claim_divisor;
  end.claimed = end.part.start(first);
  end.other = receive;
  return Advertised::kClaimed;
}

// ----- the receiver ----------------------------------------------------------------------------------------

void LargeMessages::posted(ReceiveRequest& receive) {
  if (receive.source == kAnySource || exchanging_) return;
  const int endpoint = receive.comm->endpoint(receive.source);
  const bool may_advertise = p2p_.table.advertised_receives;
  if (!is_local(endpoint)) return may_advertise ? posted_far(receive, endpoint) : void();
  Peer& from = peer(endpoint);
  if (receive.capacity() >= LinePace::kBytesMin) from.posted = p2p_.receives.id(&receive);
  if (!std::exchange(from.sent_since_posted, false)) from.exchanges = 0;
  if (!may_advertise || p2p_.peer(endpoint).expects_at_once) return;
  // Two ranks that send to each other at the same time had better both ask: who finds a receive copies at
  // once, and answers only then.
  if (from.exchanges > 0 && receive.capacity() >= kExchangedBytesMin &&
      is_streamed_from(endpoint, receive.capacity()))
    return;
  if (page(from.in, endpoint, p2p_.link->self()) == nullptr) return;
  const StridedBuffer here = receive.strided_buffer();
  if (here.listed()) return;  // large.hpp, 3
  const SymmetricAddress global = global_address(endpoint, here, receive.capacity());
  if (global == 0 || receive.capacity() < table_for(endpoint).sender_write_bytes_min) return;
  LargeEnd& end = *ends_.make();
  receive.large = &end;
  end.receive = &receive;
  end.endpoint = endpoint;
  end.here = here;
  end.global = global;
  if (advertise(receive)) return;
  held_back_.push_back(p2p_.receives.id(&receive));
}

/// Whether every earlier receive that could take the same message is advertised too (board.hpp, 2).
bool LargeMessages::may_advertise(const ReceiveRequest& receive) const {
  int looks = 0;
  for (const PostedReceive* one = receive.queue->posted_any.first;
       one != nullptr && one->serial < receive.serial; one = one->next) {
    if (tags_overlap(one->tag, receive.tag) || ++looks > kLooksMax) return false;
  }
  for (const PostedReceive* one = receive.previous; one != nullptr; one = one->previous) {
    if ((tags_overlap(one->tag, receive.tag) && !is_advertised(*one)) || ++looks > kLooksMax) return false;
  }
  return true;
}

void LargeMessages::publish_open(Peer& from) {
  const std::uint32_t waits = from.is_shown_waiting ? kWaitsBit : 0;
  from.in->open.store(std::uint64_t{from.serial_next} << 32 | waits | from.open_lines,
                      std::memory_order_release);
}

/// Where many may send at once, they had better copy at once.
void LargeMessages::publish_waiting(bool waits) {
  if (waits && (advertising_.size() > kWaitedForMax || !p2p_.process.progress->may_spin())) return;
  for (const int endpoint : advertising_) {
    if (is_far(endpoint)) continue;
    Peer& from = peer(endpoint);
    if (from.is_shown_waiting == waits) continue;
    from.is_shown_waiting = waits;
    publish_open(from);
  }
}

/// Takes a free line, if there is one and the order allows.
bool LargeMessages::advertise(ReceiveRequest& receive) {
  LargeEnd& end = *receive.large;
  if (is_far(end.endpoint)) return may_advertise(receive) && advertise_far(end);
  Peer& from = peer(end.endpoint);
  if (from.open_lines == kAllLines || !may_advertise(receive)) return false;
  end.line = __builtin_ctz(~from.open_lines);
  Line& line = from.in->receives[end.line];
  end.line_generation = generation_of(line.state.load(std::memory_order_relaxed)) + 1;
  end.copy = &line.copy;
  line.tag.store(receive.tag, std::memory_order_relaxed);
  line.context.store(receive.context, std::memory_order_relaxed);
  line.address.store(end.global, std::memory_order_relaxed);
  line.stride.store(end.here.stride, std::memory_order_relaxed);
  line.block_bytes.store(end.here.block_bytes, std::memory_order_relaxed);
  line.capacity.store(static_cast<std::uint64_t>(receive.capacity()), std::memory_order_relaxed);
  line.receive.store(p2p_.receives.id(&receive), std::memory_order_relaxed);
  line.serial.store(from.serial_next++, std::memory_order_relaxed);
  line.state.store(state_word(end.line_generation, Line::kOpen), std::memory_order_release);
  if (from.open_lines == 0) {
    advertising_.push_back(end.endpoint);
    from.is_shown_waiting = false;
  }
  from.open_lines |= 1u << end.line;
  publish(end.endpoint);
  publish_open(from);
  return true;
}

bool LargeMessages::withdraw(ReceiveRequest& receive) {
  LargeEnd* const end = receive.large;
  if (end->line >= 0 && is_far(end->endpoint)) {
    if (end->written) return false;
    release_far(*end);
  } else if (end->line >= 0) {
    Line& line = peer(end->endpoint).in->receives[end->line];
    std::uint32_t open = state_word(end->line_generation, Line::kOpen);
    if (!line.state.compare_exchange_strong(open, state_word(end->line_generation, Line::kFree),
                                            std::memory_order_acq_rel, std::memory_order_relaxed)) {
      return false;
    }
    release_line(end->endpoint, end->line);
  }
  forget(receive);
  return true;
}

/// The line is free again.
void LargeMessages::release_line(int endpoint, int line) {
  Peer& from = peer(endpoint);
  Line& freed = from.in->receives[line];
  freed.state.store(state_word(generation_of(freed.state.load(std::memory_order_relaxed)), Line::kFree),
                    std::memory_order_relaxed);
  from.open_lines &= ~(1u << line);
  publish_open(from);
  if (from.open_lines == 0) end_advertising(endpoint);
}

void LargeMessages::end_advertising(int endpoint) {
  advertising_.erase(std::find(advertising_.begin(), advertising_.end(), endpoint));
}

/// Tells the sender how many of its messages have been matched or kept.
void LargeMessages::publish(int endpoint) {
  if (is_far(endpoint)) return;  // whom the next advertisement tells
  Peer& from = peer(endpoint);
  const std::uint64_t arrived = p2p_.peer(endpoint).arrived;
  if (from.published == arrived) return;
  from.published = arrived;
  from.in->processed.store(arrived, std::memory_order_release);
}

/// Looks at one of the receives that wait with their advertisement, and at the next ones while that succeeds.
void LargeMessages::retry_held_back() {
  if (held_back_next_ >= held_back_.size()) held_back_next_ = 0;
  while (held_back_next_ < held_back_.size()) {
    ReceiveRequest* const receive = p2p_.receives.find(held_back_[held_back_next_]);
    const bool waits = receive != nullptr && receive->queue != nullptr && receive->large != nullptr &&
                       receive->large->line < 0;
    if (waits && !advertise(*receive)) {
      ++held_back_next_;
      return;
    }
    held_back_.erase(held_back_.begin() + static_cast<std::ptrdiff_t>(held_back_next_));
  }
}

}  // namespace tasuki
