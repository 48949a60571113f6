// Messages that are set aside: the sender of a blocking call in the standard mode does not wait for a late
// receiver longer than a copy takes. Then it copies the message to symmetric memory of its own and returns.
//
// Whose the message is one word tells, in the page that the two share: the receiver takes it when the message
// meets its receive, and then gets it from the send buffer or asks for it; the sender sets it aside. Both do
// so by a compare-and-swap, so that exactly one succeeds. A receiver that comes later finds the copy's
// address there. The word stays in the receiver's caches: a sender that does not wait long never looks at it.
//
// docs/models/answers.pml is the model. Of each pair at most kAsides messages are set aside, and none of more
// than ProtocolTable::turn_bytes_max.
#include "job/launcher.hpp"
#include "node/node.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

constexpr std::int64_t kNever = INT64_MAX;
constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kCallNanoseconds = 1000;
constexpr Count kCopiedBytesPerNanosecond = 16;

}  // namespace

// ----- the sender ------------------------------------------------------------------------------------------

void LargeMessages::lend_aside(LargeEnd& end, Count bytes) {
  if (end.aside_line >= 0 || !is_local(end.endpoint) || bytes > p2p_.table.turn_bytes_max) return;
  Peer& to = peer(end.endpoint);
  if (to.asides_used == kAllAsides || page(to.out, p2p_.link->self(), end.endpoint) == nullptr) return;
  end.aside_line = __builtin_ctz(~to.asides_used);
  to.asides_used |= 1u << end.aside_line;
}

void LargeMessages::release_aside(LargeEnd& end) {
  Peer& to = peer(end.endpoint);
  const auto line = static_cast<std::size_t>(end.aside_line);
  to.asides_used &= ~(1u << end.aside_line);
  to.aside_states[line] += 2;
  if (end.aside == nullptr) return;  // the receiver has written that
  to.out->asides[line].state.store(to.aside_states[line], std::memory_order_relaxed);
  p2p_.process.counters.set_aside_bytes.subtract(static_cast<std::uint64_t>(end.send->cursor.total_bytes()));
  memory_.deallocate(end.aside);
}

bool LargeMessages::set_aside(SendRequest& send) {
  if (send.large == nullptr || send.large->aside_line < 0 || !send.opened) return false;
  LargeEnd& end = *send.large;
  if (end.aside != nullptr) return true;
  const std::int64_t now_ns = p2p_.process.progress->now_ns();
  const Count bytes = send.cursor.total_bytes();
  if (end.aside_at_ns == 0) end.aside_at_ns = now_ns + kCallNanoseconds + bytes / kCopiedBytesPerNanosecond;
  if (now_ns < end.aside_at_ns) return false;
  end.aside_at_ns = kNever;
  const auto line = static_cast<std::size_t>(end.aside_line);
  Peer& to = peer(end.endpoint);
  AsideMessage& shared = to.out->asides[line];
  std::uint32_t state = to.aside_states[line];
  if (shared.state.load(std::memory_order_relaxed) != state) return false;
  void* const copy = memory_.allocate_symmetric(static_cast<std::size_t>(bytes), kAlignment);
  if (copy == nullptr) return false;
  Datatype& packed = byte_type(p2p_.process);
  const StridedBuffer here = strided_buffer(copy, bytes, packed);
  if (end.here.exists()) {  // past the caches: the receiver's have the last message that was set aside
    copy_strided(end.here, here, 0, bytes, true);
  } else {
    PackCursor(*send.datatype, send.count).pack(send.buffer, copy, static_cast<std::size_t>(bytes));
  }
  const SymmetricAddress global = global_address(end.endpoint, here, bytes);
  shared.address.store(global, std::memory_order_relaxed);
  if (!shared.state.compare_exchange_strong(state, state + 1, std::memory_order_acq_rel,
                                            std::memory_order_relaxed)) {
    memory_.deallocate(copy);
    return false;
  }
  end.aside = copy;
  end.here = here;
  end.global = global;
  send.buffer = copy;
  send.count = bytes;
  send.datatype = Ref<Datatype>::share(&packed);
  send.cursor = PackCursor(packed, bytes);
  ++p2p_.process.counters.sends_set_aside;
  p2p_.process.counters.set_aside_bytes.add(static_cast<std::uint64_t>(bytes));
  return true;
}

// ----- the receiver ----------------------------------------------------------------------------------------

/// A message has met its receive: where it lies, from now on for as long as this rank needs it.
LongMessage LargeMessages::take(int endpoint, LongMessage message) {
  PairPage* const shared = page(peer(endpoint).in, endpoint, p2p_.link->self());
  if (shared == nullptr || message.aside >= kAsides)
    p2p_.process.launcher.end_damaged(endpoint, "where a message may be set aside");
  AsideMessage& line = shared->asides[message.aside];
  std::uint32_t state = line.state.load(std::memory_order_acquire);
  if (state % 2 == 0 && line.state.compare_exchange_strong(state, state + 2, std::memory_order_acq_rel,
                                                           std::memory_order_acquire))
    return message;
  message.source = {line.address.load(std::memory_order_relaxed), 0, 0};
  message.kind = SourceKind::kGlobal;
  message.get = kNoGet;
  return message;
}

}  // namespace tasuki
