// LoopLink: the region's layout, the model of a link, polling and sleeping.
#include "link/loop/loop_link.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/system/processor_hints.hpp"

namespace tasuki {
namespace {

using loop::LoopRingShared;
using loop::NodeAdapter;
using loop::NodeAdapterShared;
using loop::Record;
using loop::RecordKind;

constexpr int kPacketsPerPoll = 32;  // of one source
constexpr std::int64_t kNever = INT64_MAX;
constexpr std::uint64_t kWindowNs = 4'000'000;  // for whose time a wire may take its node's link at once
constexpr std::uint64_t kWindowBytesLeast = 64 << 10;
constexpr std::uint64_t kInterleavedBytes = 4 << 10;  // a packet up to that goes between others' bytes
constexpr std::int64_t kSlotLeastNs = 1000;           // of a node's link
constexpr std::int64_t kLongestNs = std::int64_t{3600} * 1'000'000'000;  // that any packet travels
// The system wakes a sleeper that much later than it asked for, or a little less.
constexpr std::int64_t kLateNs = 100'000;

/// Of one ring: a share of 16 MiB per receiver within 64 KiB .. 1 MiB.
std::uint64_t ring_capacity(std::size_t size) {
  return std::bit_floor(std::clamp<std::size_t>((std::size_t{16} << 20) / size, 64 * 1024, 1024 * 1024));
}

/// What may be under way in one ring. Where nodes have links that is what they carry in kWindowNs: with more,
/// one message would hold up those to other ranks; with less, the link would idle while a rank wakes up.
std::uint64_t window_bytes(const NetworkModel& model, std::size_t size) {
  const std::uint64_t room = ring_capacity(size);
  if (model.node_mb_per_second == 0) return room;
  const std::uint64_t carried = static_cast<std::uint64_t>(model.node_mb_per_second) * kWindowNs / 1000;
  return std::bit_floor(std::clamp(carried, kWindowBytesLeast, room));
}

std::size_t bits_bytes(std::size_t size) {
  return loop::round_to_lines((size + 63) / 64 * sizeof(std::uint64_t));
}

}  // namespace

std::size_t LoopLink::bytes_needed(int size) {
  const auto ranks = static_cast<std::size_t>(size);
  return ranks * bits_bytes(ranks) + ranks * ranks * (sizeof(LoopRingShared) + ring_capacity(ranks)) +
         2 * ranks * sizeof(NodeAdapterShared);
}

LoopLink::LoopLink(std::unique_ptr<Link> behind, Doorbells& doorbells, std::byte* region,
                   std::vector<int> nodes, const NetworkModel& model, const Clock& clock)
    : OuterLink(std::move(behind), std::move(nodes)),
      doorbells_(doorbells),
      clock_(clock),
      model_(model),
      capacity_(window_bytes(model, nodes_.size())),
      wires_(nodes_.size()),
      next_due_ns_(kNever) {
  const std::size_t size = nodes_.size();
  const auto self = static_cast<std::size_t>(rank_);
  const auto bits_of = [&](std::size_t rank) {
    return reinterpret_cast<Word*>(region + rank * bits_bytes(size));
  };
  const auto ring_at = [&](std::size_t from, std::size_t to) {
    return reinterpret_cast<LoopRingShared*>(region + size * bits_bytes(size) +
                                             (to * size + from) *
                                                 (sizeof(LoopRingShared) + ring_capacity(size)));
  };
  bits_ = bits_of(self);
  for (std::size_t peer = 0; peer < size; ++peer) {
    wires_[peer].sender = loop::LoopSender(ring_at(self, peer), capacity_);
    wires_[peer].receiver = loop::LoopReceiver(ring_at(peer, self), capacity_);
    wires_[peer].bits = bits_of(peer) + self / 64;
  }
  if (model_.node_mb_per_second == 0) return;
  auto* const adapters = reinterpret_cast<NodeAdapterShared*>(ring_at(0, size));
  const std::int64_t slot_ns = std::max(kSlotLeastNs, model_.node_occupied_ns(loop::kSlotBytes));
  out_ = NodeAdapter(adapters + node_, slot_ns);
  for (std::size_t node = 0; node < size; ++node) in_.emplace_back(adapters + size + node, slot_ns);
}

std::uint32_t LoopLink::bulk_bytes_max() const {
  return std::min(behind_->bulk_bytes_max(), static_cast<std::uint32_t>(capacity_ / 4));
}

// ----- sending ---------------------------------------------------------------------------------------------

bool LoopLink::reserve(int peer, std::uint32_t bulk_bytes, PacketRoom* room) {
  if (!is_far(peer)) return behind_->reserve(peer, bulk_bytes, room);
  Record* const record = wire(peer).sender.reserve(RecordKind::kPacket, bulk_bytes);
  if (record == nullptr) return no_room(peer);
  wire(peer).reserved = record;
  *room = {.head = record->head(), .bulk = record->bulk(), .bulk_bytes = bulk_bytes};
  return true;
}

void LoopLink::commit(int peer, const PacketRoom& room) {
  if (!is_far(peer)) return behind_->commit(peer, room);
  send(peer, wire(peer).reserved, kHeadBytesMax + std::uint64_t{room.bulk_bytes});
}

/// Returns false, for callers that return it. Remembers a peer whose ring is damaged.
bool LoopLink::no_room(int peer) {
  if (wire(peer).sender.is_damaged()) damaged_peer_ = peer;
  return false;
}

bool LoopLink::put(int peer, const HeadWords& head, const void* data, std::uint32_t bytes) {
  if (!is_far(peer)) return behind_->put(peer, head, data, bytes);
  Record* const record = wire(peer).sender.reserve(RecordKind::kSmall, bytes);
  if (record == nullptr) return no_room(peer);
  std::memcpy(record->head(), &head, sizeof head);
  if (bytes != 0) std::memcpy(record->head() + sizeof head, data, bytes);
  send(peer, record, sizeof head + bytes);
  return true;
}

void LoopLink::send(int peer, Record* record, std::uint64_t bytes) {
  Wire& to = wire(peer);
  const std::int64_t begin_ns = std::max(clock_.now_ns(), to.free_ns);
  to.free_ns = begin_ns + model_.occupied_ns(bytes);
  const std::int64_t there_ns = in_.empty() ? to.free_ns : pass_node_links(peer, begin_ns, bytes);
  to.due_ns = std::max(to.due_ns, there_ns + model_.latency_ns);
  to.sender.commit(record, to.due_ns);
  const std::uint64_t bit = std::uint64_t{1} << rank_ % 64;
  if ((to.bits->load(std::memory_order_seq_cst) & bit) == 0)
    to.bits->fetch_or(bit, std::memory_order_seq_cst);
  doorbells_.wake(peer);
}

/// Takes the time of a packet to `peer` that begins at `begin_ns` from both nodes' links. Returns when its
/// last byte is there, and lets the next one follow when the link out has sent it.
std::int64_t LoopLink::pass_node_links(int peer, std::int64_t begin_ns, std::uint64_t bytes) {
  Wire& to = wire(peer);
  NodeAdapter& in = in_[static_cast<std::size_t>(nodes_[static_cast<std::size_t>(peer)])];
  const std::int64_t occupied_ns = model_.node_occupied_ns(bytes);
  const std::int64_t sent_ns = out_.book(begin_ns, occupied_ns);
  if (bytes <= kInterleavedBytes) {
    in.book(begin_ns, occupied_ns);
    to.free_ns = std::max(to.free_ns, begin_ns + occupied_ns);
    return to.free_ns;
  }
  to.free_ns = std::max(to.free_ns, sent_ns);
  return std::max(to.free_ns, in.book(to.free_ns - occupied_ns, occupied_ns));
}

// ----- receiving -------------------------------------------------------------------------------------------

int LoopLink::poll(PacketSink& sink) {
  if (polling_) return 0;
  polling_ = true;
  int delivered = behind_->poll(sink);
  if (damaged_peer_ >= 0)
    sink.packet(damaged_packet(damaged_peer_, "more of what was sent is received than there is"));
  find_senders();
  std::int64_t next_due_ns = kNever;
  if (!active_.empty()) {
    const std::int64_t now_ns = clock_.now_ns();
    for (std::size_t i = 0; i < active_.size();) {
      const int source = active_[i];
      delivered += poll_wire(source, now_ns, &next_due_ns, sink);
      if (wire(source).active) {
        ++i;
      } else {
        active_[i] = active_.back();
        active_.pop_back();
      }
    }
  }
  next_due_ns_.store(next_due_ns, std::memory_order_relaxed);
  polling_ = false;
  return delivered;
}

/// Those whose bits are set join the active ones.
void LoopLink::find_senders() {
  for (std::size_t word = 0; word < (nodes_.size() + 63) / 64; ++word) {
    if (bits_[word].load(std::memory_order_seq_cst) == 0) continue;
    std::uint64_t set = bits_[word].exchange(0, std::memory_order_seq_cst);
    for (; set != 0; set &= set - 1) {
      const int source = static_cast<int>(word) * 64 + std::countr_zero(set);
      if (!is_far(source) || wire(source).active) continue;
      wire(source).active = true;
      active_.push_back(source);
    }
  }
}

/// Delivers what is due. The link is no longer active when nothing is left in it.
int LoopLink::poll_wire(int source, std::int64_t now_ns, std::int64_t* next_due_ns, PacketSink& sink) {
  Wire& from = wire(source);
  for (int delivered = 0;; ++delivered) {
    Record* const record = from.receiver.front();
    if (record == nullptr) {
      from.active = false;
      return delivered;
    }
    const std::int64_t due_ns = record->due_ns;
    if (due_ns > now_ns || delivered == kPacketsPerPoll) {
      if (due_ns - now_ns > kLongestNs)
        sink.packet(damaged_packet(source, "a packet that is due in the far future"));
      *next_due_ns = std::min(*next_due_ns, due_ns);
      return delivered;
    }
    sink.packet(from.receiver.packet(source, record));
    if (from.receiver.take(*record)) doorbells_.wake(source);
  }
}

Found LoopLink::take_if(int source, const HeadFilter& filter, void* buffer, std::uint64_t capacity,
                        std::uint32_t looks, SmallPacket* taken) {
  if (polling_) return Found::kOther;
  if (!is_far(source)) return behind_->take_if(source, filter, buffer, capacity, looks, taken);
  Wire& from = wire(source);
  Record* record = from.receiver.front();
  while (record == nullptr || record->due_ns > clock_.now_ns()) {
    if (looks-- <= 1) return Found::kNothing;
    relax_processor();
    record = from.receiver.front();
  }
  taken->bytes = record->bytes;
  if (record->kind != RecordKind::kSmall || !from.receiver.is_sound(RecordKind::kSmall, taken->bytes))
    return Found::kOther;
  std::memcpy(&taken->head, record->head(), sizeof taken->head);
  if (!filter.passes(taken->head) || taken->bytes > capacity) return Found::kOther;
  if (taken->bytes != 0) std::memcpy(buffer, record->head() + sizeof taken->head, taken->bytes);
  if (from.receiver.take(*record)) doorbells_.wake(source);
  return Found::kTaken;
}

bool LoopLink::sleep(std::uint32_t ticket, std::int64_t timeout_ns) {
  const std::int64_t due_ns = next_due_ns_.load(std::memory_order_relaxed);
  if (due_ns != kNever) {
    const std::int64_t left_ns = due_ns - clock_.now_ns() - kLateNs;
    if (left_ns <= 0) {
      sched_yield();
      return true;
    }
    if (left_ns < timeout_ns) {
      behind_->sleep(ticket, left_ns);
      return true;  // a packet is due
    }
  }
  return behind_->sleep(ticket, timeout_ns);
}

}  // namespace tasuki
