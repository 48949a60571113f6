// OfiLink: its making, sending, sleeping.
#include "link/ofi/ofi_link.hpp"

#include <rdma/fi_errno.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tasuki {
namespace {

using ofi::Buffer;
using ofi::Frame;
using ofi::FrameKind;
using ofi::KeptPackets;

constexpr std::int64_t kGreetingPauseNsMin = 2'000'000;  // before a greeting is said again; doubled each time
constexpr std::int64_t kGreetingPauseNsMax = 500'000'000;
constexpr std::uint32_t kInjectedMax = 64;  // packets to a peer that have no completion yet
constexpr std::uint32_t kAloneMax = 2;      // small packets to a peer, between two polls, that go at once
constexpr std::int64_t kUnpolledNsMax = kSecondNs;  // that a rank may go on sending without a poll
constexpr std::size_t kWindowBytesOfAll = 16 << 20;
// A rank that has packets which libfabric does not take sleeps no longer: not everything that ends that
// wakes.
constexpr std::int64_t kRestlessNs = 1'000'000;
constexpr std::int64_t kWithRegionsNs =
    20'000'000;  // nor one whose memory peers may copy: see look_whether_quiet()

std::size_t window_bytes(std::size_t ranks) {
  return std::clamp<std::size_t>(kWindowBytesOfAll / ranks,
                                 std::size_t{2} * (ofi::kBulkAt + OfiLink::kBulkBytesMax),
                                 OfiLink::kWindowBytesMax);
}

Frame& frame_of(Buffer& buffer) {
  return *reinterpret_cast<Frame*>(buffer.memory + ofi::kFrameAt);
}

}  // namespace

OfiLink::OfiLink(std::unique_ptr<Link> behind, Doorbells& doorbells, std::vector<int> nodes,
                 std::unique_ptr<ofi::Fabric> fabric, Wiring wiring, const Clock& clock)
    : OuterLink(std::move(behind), std::move(nodes)),
      doorbells_(doorbells),
      clock_(clock),
      wiring_(std::move(wiring)),
      fabric_(std::move(fabric)),
      card_{fabric_->provider(), fabric_->version(), fabric_->interface(), wiring_.host, fabric_->name()},
      window_bytes_(window_bytes(nodes_.size())),
      connect_ns_(wiring_.connect_seconds * kSecondNs),
      alone_(std::count(nodes_.begin(), nodes_.end(), node_) == 1),
      peers_(nodes_.size()),
      armed_(behind_->armed()),
      flusher_(gate_, [this] { return flush_bundles(); }) {}

std::unique_ptr<OfiLink> OfiLink::make(std::unique_ptr<Link>* behind, Doorbells& doorbells,
                                       std::vector<int> nodes, std::unique_ptr<ofi::Fabric> fabric,
                                       Wiring wiring, const Clock& clock, std::string* error) {
  for (int i = 0; i < kReceives; ++i) {
    Buffer* const buffer = fabric->take(ofi::kBulkAt + kBulkBytesMax);
    if (buffer == nullptr || !fabric->post(buffer)) {
      *error = "libfabric's " + fabric->provider() + " on " + fabric->interface() +
               " takes no buffers to receive into";
      return nullptr;
    }
  }
  auto sleeper = ofi::make_sleeper(wiring.wait_by, doorbells.own(), fabric->descriptor(), error);
  if (sleeper == nullptr) return nullptr;
  std::unique_ptr<OfiLink> link(new OfiLink(std::move(*behind), doorbells, std::move(nodes),
                                            std::move(fabric), std::move(wiring), clock));
  link->posted_ = kReceives;
  link->sleeper_ = std::move(sleeper);
  return link;
}

OfiLink::~OfiLink() = default;

std::string OfiLink::description() const {
  return "packets between nodes go by libfabric " + fabric_->library().version_text() + " (" +
         fabric_->library().file + "), provider " + card_.provider + " " + card_.version + ", interface " +
         card_.interface + ", because " + fabric_->reason() + "; a rank that sleeps is woken by " +
         sleeper_->name() + "; " + ofi::text_of(fabric_->copying());
}

std::uint32_t OfiLink::bulk_bytes_max() const {
  return std::min(behind_->bulk_bytes_max(), kBulkBytesMax);
}

// ----- sending ---------------------------------------------------------------------------------------------

bool OfiLink::reserve(int peer, std::uint32_t bulk_bytes, PacketRoom* room) {
  if (!is_far(peer)) return behind_->reserve(peer, bulk_bytes, room);
  const ofi::Inside inside(gate_);
  if (is_poll_due()) return false;
  Buffer* const buffer = take_buffer(peer, ofi::kBulkAt + bulk_bytes);
  if (buffer == nullptr) return false;
  at(peer).reserved = buffer;
  *room = {
      .head = buffer->memory + ofi::kHeadAt, .bulk = buffer->memory + ofi::kBulkAt, .bulk_bytes = bulk_bytes};
  return true;
}

void OfiLink::commit(int peer, const PacketRoom& room) {
  if (!is_far(peer)) return behind_->commit(peer, room);
  const ofi::Inside inside(gate_);
  Buffer* const buffer = std::exchange(at(peer).reserved, nullptr);
  std::byte* const bulk = buffer->memory + ofi::kBulkAt;
  if (room.bulk != bulk && room.bulk_bytes != 0) {
    if (fabric_->can_lend()) {
      buffer->lent = room.bulk;
    } else {
      std::memcpy(bulk, room.bulk, room.bulk_bytes);
    }
  }
  send(peer, buffer, FrameKind::kPacket, room.bulk_bytes);
}

bool OfiLink::put(int peer, const HeadWords& head, const void* data, std::uint32_t bytes) {
  if (!is_far(peer)) return behind_->put(peer, head, data, bytes);
  const ofi::Inside inside(gate_);
  if (is_poll_due()) return false;
  if (bundle(peer, head, data, bytes) || inject(peer, head, data, bytes)) return true;
  Buffer* const buffer = take_buffer(peer, ofi::kHeadAt + sizeof head + bytes);
  if (buffer == nullptr) return false;
  std::memcpy(buffer->memory + ofi::kHeadAt, &head, sizeof head);
  if (bytes != 0) std::memcpy(buffer->memory + ofi::kHeadAt + sizeof head, data, bytes);
  send(peer, buffer, FrameKind::kSmall, bytes);
  return true;
}

/// Whether a send is refused until this rank has polled: it has sent for a second without a poll, and
/// libfabric tells only in a poll that a connection has broken.
bool OfiLink::is_poll_due() {
  if (polls_at_send_ != polls_) {
    polls_at_send_ = polls_;
    unpolled_ns_ = 0;
    return false;
  }
  const std::int64_t now_ns = clock_.now_ns();
  if (unpolled_ns_ == 0) unpolled_ns_ = now_ns;
  if (now_ns - unpolled_ns_ < kUnpolledNsMax) return false;
  polls_without_look_ = UINT32_MAX - 1;  // that poll looks at the pairs, too
  return true;
}

/// A small packet without a buffer. Returns false, and nothing has happened, when that cannot be.
bool OfiLink::inject(int peer, const HeadWords& head, const void* data, std::uint32_t bytes) {
  struct {
    Frame frame;
    HeadWords head;
    std::byte data[KeptPackets::kBytesMax - sizeof(Frame) - sizeof(HeadWords)];
  } packet;
  static_assert(sizeof packet == KeptPackets::kBytesMax, "it is kept");
  Peer& to = at(peer);
  const std::size_t span = ofi::span_of(FrameKind::kSmall, bytes);
  if (span > std::min(fabric_->inject_bytes_max(), sizeof packet)) return false;
  if (!to.connected || !to.backlog.empty() || to.injected >= kInjectedMax) return false;
  packet.frame = {to.secret, static_cast<std::uint32_t>(rank_), to.sent, FrameKind::kSmall, bytes};
  packet.head = head;
  if (bytes != 0) std::memcpy(packet.data, data, bytes);
  if (fabric_->inject(to.number, &packet, span) != 0) return false;
  keep(to, to.sent, &packet, span);
  ++to.sent;
  ++to.injected;
  ++to.uncovered;
  to.talked = true;
  return true;
}

/// A buffer for a packet to `peer`, or null: its packets have all the memory that they may have.
Buffer* OfiLink::take_buffer(int peer, std::size_t bytes) {
  Peer& to = at(peer);
  if (!may_send_to(to)) return nullptr;
  if (!to.connected) greet(peer);
  if (!to.connected || (to.unfinished_bytes != 0 && to.unfinished_bytes + bytes > window_bytes_))
    return nullptr;
  Buffer* const buffer = fabric_->take(bytes);
  if (buffer == nullptr) return nullptr;
  note(peer, buffer);
  return buffer;
}

/// From now on the buffer belongs to a packet to `peer`.
void OfiLink::note(int peer, Buffer* buffer) {
  Peer& to = at(peer);
  if (!to.is_unfinished()) to.moved_ns = clock_.now_ns();
  to.unfinished_bytes += buffer->capacity;
  buffer->peer = peer;
  list(peer);
}

/// Something is to be done for the peer.
void OfiLink::list(int peer) {
  Peer& to = at(peer);
  if (to.listed) return;
  to.listed = true;
  to.patience_ns = connect_ns_ / 4;
  unfinished_.push_back(peer);
}

void OfiLink::send(int peer, Buffer* buffer, FrameKind kind, std::uint32_t bytes) {
  Peer& to = at(peer);
  if (to.bundle != nullptr) send_bundle(peer);
  frame_of(*buffer) = {{}, static_cast<std::uint32_t>(rank_), to.sent, kind, bytes};
  buffer->length = static_cast<std::uint32_t>(ofi::span_of(kind, bytes));
  if (ofi::has_packets(kind)) {
    if (buffer->lent == nullptr && buffer->length <= ofi::KeptPackets::kBytesMax)
      keep(to, to.sent, buffer->memory + ofi::kFrameAt, buffer->length);
    ++to.sent;
  }
  if (ofi::is_counted(kind)) ++to.words_sent;
  hand_over_or_queue(peer, buffer);
}

void OfiLink::hand_over_or_queue(int peer, Buffer* buffer) {
  Peer& to = at(peer);
  const FrameKind kind = frame_of(*buffer).kind;
  if ((to.backlog.empty() || ofi::is_greeting(kind)) && hand_over(peer, buffer)) return;
  if (ofi::is_greeting(kind)) {
    to.backlog.push_front(buffer);
  } else {
    to.backlog.push_back(buffer);
  }
  restless_.store(true, std::memory_order_relaxed);
}

/// Has a small packet wait with others for the same peer, where it is not the first of many. Returns false,
/// and nothing has happened but that those before it have gone, where it is to go alone.
bool OfiLink::bundle(int peer, const HeadWords& head, const void* data, std::uint32_t bytes) {
  Peer& to = at(peer);
  if (to.burst_poll != polls_) {
    to.burst_poll = polls_;
    to.burst_length = 0;
  }
  const std::uint32_t entry = ofi::entry_bytes(bytes);
  const bool fits = to.bundle == nullptr || to.bundle->length + entry <= ofi::kBundleBytesMax;
  if (to.bundle != nullptr && (!fits || bytes > ofi::kBundledBytesMax)) send_bundle(peer);
  if (++to.burst_length <= kAloneMax || bytes > ofi::kBundledBytesMax) return false;
  if (to.bundle == nullptr && !begin_bundle(peer)) return false;
  std::byte* const place = to.bundle->memory + ofi::kHeadAt + to.bundle->length;
  const ofi::BundleHead about{bytes, head};
  std::memcpy(place, &about, sizeof about);
  if (bytes != 0) std::memcpy(place + sizeof about, data, bytes);
  to.bundle->length += entry;
  return true;
}

bool OfiLink::begin_bundle(int peer) {
  if (!flusher_.watch()) return false;
  Peer& to = at(peer);
  to.bundle = take_buffer(peer, ofi::kHeadAt + ofi::kBundleBytesMax);
  if (to.bundle == nullptr) return false;
  to.bundle->length = 0;
  ++bundles_;
  bundled_.push_back(peer);
  return true;
}

void OfiLink::send_bundle(int peer) {
  Buffer* const buffer = std::exchange(at(peer).bundle, nullptr);
  std::erase(bundled_, peer);
  send(peer, buffer, FrameKind::kBundle, buffer->length);
}

void OfiLink::send_bundles() {
  while (!bundled_.empty()) send_bundle(bundled_.back());
}

/// By the helper, inside the gate.
bool OfiLink::flush_bundles() {
  send_bundles();
  return std::exchange(bundles_seen_, bundles_) != bundles_;
}

/// Returns whether libfabric has taken it.
bool OfiLink::hand_over(int peer, Buffer* buffer) {
  Peer& to = at(peer);
  const FrameKind kind = frame_of(*buffer).kind;
  if (!to.connected && !ofi::is_greeting(kind)) return false;
  if (to.number == FI_ADDR_NOTAVAIL && !find(peer)) return false;
  frame_of(*buffer).secret = kind == FrameKind::kMeet ? to.other->key : to.secret;
  const long result = fabric_->send(to.number, buffer);
  if (result != 0) {
    if (result != -FI_EAGAIN) to.trouble = fabric_->library().error_text(result);
    return false;
  }
  buffer->covers = std::exchange(to.uncovered, 0);
  to.talked = true;
  return true;
}

/// Finds out where the peer is. Returns false while that is not known.
bool OfiLink::find(int peer) {
  Peer& to = at(peer);
  std::string text;
  if (!has_secret_ && !(has_secret_ = wiring_.secret(&secret_))) return false;
  if (to.card != nullptr || !wiring_.card(peer, &text)) return false;
  to.card = std::make_unique<ofi::Card>();
  if (!ofi::from_text(text, to.card.get())) {
    wiring_.fail("rank " + std::to_string(rank_) + ": what rank " + std::to_string(peer) +
                 " has said of its network cannot be read: \"" + text + "\"");
    return false;
  }
  if (const std::string reason = ofi::why_not(rank_, card_, peer, *to.card); !reason.empty()) {
    wiring_.fail(reason);
    return false;
  }
  to.number = fabric_->insert(to.card->name);
  to.secret = secret_;
  if (to.number == FI_ADDR_NOTAVAIL) fail(peer, "libfabric does not take its address");
  return to.number != FI_ADDR_NOTAVAIL;
}

/// A word between the links. Returns whether it is on its way.
bool OfiLink::say(int peer, FrameKind kind, const void* words) {
  const std::uint32_t bytes = ofi::word_bytes(kind);
  Buffer* const buffer = may_send_to(at(peer)) ? fabric_->take(ofi::kHeadAt + bytes) : nullptr;
  if (buffer == nullptr) return false;
  if (bytes != 0) std::memcpy(buffer->memory + ofi::kHeadAt, words, bytes);
  note(peer, buffer);
  send(peer, buffer, kind, bytes);
  return true;
}

/// Has the connection made.
void OfiLink::greet(int peer) {
  Peer& to = at(peer);
  if (to.connected || std::exchange(to.greeted, true)) return;
  to.greeting_pause_ns = kGreetingPauseNsMin;
  say_greeting(peer);
}

void OfiLink::say_greeting(int peer) {
  Peer& to = at(peer);
  to.greet_again_ns = clock_.now_ns() + to.greeting_pause_ns;
  to.greeting_pause_ns = std::min(2 * to.greeting_pause_ns, kGreetingPauseNsMax);
  if (to.other == nullptr) {
    to.greeting = say(peer, FrameKind::kHello);
    return;
  }
  ofi::MeetWords words{.from = {}, .secret = to.other->own_secret};
  std::string error;
  if (!address(&words.from, &error)) return end_other(peer, true, error);
  to.greeting = say(peer, FrameKind::kMeet, &words);
}

/// A buffer is free again. `error`: why its packet was lost; 0: it was not.
void OfiLink::sent(Buffer* buffer, int error) {
  Peer& to = at(buffer->peer);
  const Frame& frame = frame_of(*buffer);
  if (ofi::is_greeting(frame.kind)) to.greeting = false;
  if (frame.kind == FrameKind::kAsk) to.watch.is_asking = false;
  const bool is_packet = ofi::has_packets(frame.kind);
  // What is said again, or is kept to be sent again (watch.hpp). Who refuses a connection is not there any
  // more.
  const bool is_replaced = is_packet                      ? find_kept(to, frame.sequence) != nullptr
                           : ofi::is_greeting(frame.kind) ? error == FI_ENOTCONN
                                                          : !ofi::is_counted(frame.kind);
  const bool may_be_lost = is_replaced && error != FI_ECONNREFUSED;
  to.unfinished_bytes -= buffer->capacity;
  to.injected -= std::min(to.injected, buffer->covers);
  if (error == 0) {
    to.moved_ns = clock_.now_ns();
    to.patience_ns = connect_ns_ / 4;
    if (is_packet) ++to.moves;
  } else if (!to.said_bye && !leaving_ && !may_be_lost) {
    to.broken = true;
    to.trouble = fabric_->library().error_text(error);
  }
  fabric_->give_back(buffer);
}

/// Hands over what waits, and forgets those for whom nothing does.
void OfiLink::send_backlogs(std::int64_t now_ns) {
  bool restless = false;
  for (std::size_t i = 0; i < unfinished_.size();) {
    const int peer = unfinished_[i];
    Peer& to = at(peer);
    if (to.awaits_answer() && !to.greeting && now_ns >= to.greet_again_ns && may_send_to(to))
      say_greeting(peer);
    while (!to.backlog.empty() && !to.gone && may_send_to(to) && hand_over(peer, to.backlog.front())) {
      to.backlog.pop_front();
      to.moved_ns = clock_.now_ns();
    }
    const bool awaits_answer = to.awaits_answer() && may_send_to(to);
    begin_copies(peer);
    restless = restless || !to.backlog.empty() || !to.copies.empty() || awaits_answer;
    if (to.is_unfinished() || to.broken || awaits_answer) {
      ++i;
      continue;
    }
    to.listed = false;
    to.probe.reset();
    unfinished_[i] = unfinished_.back();
    unfinished_.pop_back();
  }
  restless_.store(restless || !has_secret_, std::memory_order_relaxed);
}

// ----- sleeping --------------------------------------------------------------------------------------------

Found OfiLink::take_if(int source, const HeadFilter& filter, void* buffer, std::uint64_t capacity,
                       std::uint32_t looks, SmallPacket* taken) {
  if (polling_ || is_far(source)) return Found::kOther;
  return behind_->take_if(source, filter, buffer, capacity, looks, taken);
}

std::uint32_t OfiLink::arm() {
  ++armed_;
  return behind_->arm();
}

/// One thread of this rank waits for the network; others wait for the doorbell, which it rings at its end.
bool OfiLink::sleep(std::uint32_t ticket, std::int64_t timeout_ns) {
  if (!quiet_.load(std::memory_order_relaxed) && fabric_->descriptor() >= 0) {
    sched_yield();
    return true;
  }
  if (watched_.exchange(true, std::memory_order_acquire)) return behind_->sleep(ticket, timeout_ns);
  const bool restless = restless_.load(std::memory_order_relaxed) || fabric_->descriptor() < 0;
  const std::int64_t limit_ns = restless                                       ? kRestlessNs
                                : has_regions_.load(std::memory_order_relaxed) ? kWithRegionsNs
                                                                               : timeout_ns;
  const bool is_cut = timeout_ns > limit_ns;
  const bool woken = sleeper_->sleep(ticket, std::min(timeout_ns, limit_ns));
  watched_.store(false, std::memory_order_release);
  return woken || is_cut;
}

/// A program may close what it did not open: nothing comes from the network then, and nothing says so.
std::string OfiLink::closed_descriptor() const {
  return ofi::text_of(rank_, card_) + ": descriptor " + std::to_string(fabric_->descriptor()) +
         ", by which this rank waits for other hosts, was closed; a program that closes descriptors which it "
         "did not open (closefrom, close_range) must do so before MPI_Init";
}

void OfiLink::disarm() {
  behind_->disarm();
  if (--armed_ > 0) behind_->ring();
}

}  // namespace tasuki
