// OfiLink: notices that packets were lost (watch.hpp).
//
// Three observations prove a loss:
// 1. A peer answers a question, and lacks a packet that was sent seconds before the question.
// 2. A peer has later packets, but has lacked an earlier one for a second.
// 3. The peer's host accepts new connections, but acknowledges nothing on the present one. (Kernels
//    acknowledge also for processes that compute or are stopped.)
// A lost packet is sent again if its copy was kept; otherwise the job ends.
#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "link/ofi/ofi_link.hpp"
#include "link/ofi/tcp_sockets.hpp"

namespace tasuki {
namespace {

using ofi::Buffer;
using ofi::Frame;
using ofi::FrameKind;
using ofi::KeptPackets;
using ofi::TcpSocket;
using ofi::Watch;

constexpr std::int64_t kLookNs = 250 * kMillisecondNs;
constexpr std::int64_t kStillNs = kSecondNs;  // idle time before a peer is asked
constexpr std::int64_t kPauseNsMax = 8 * kSecondNs;
constexpr std::int64_t kPausePerPeerNs = 20 * kMillisecondNs;  // bounds a rank's questions per second
constexpr std::uint32_t kRetransmissionsMin = 2;               // without success, after the host answered

/// Returns the connection to the rank at address `name` on which nothing is acknowledged; null if there is
/// none. A connection that the peer opened does not tell which rank of its host it belongs to.
const TcpSocket* find_silent(const std::string& name, const std::vector<TcpSocket>& sockets) {
  const std::string address = ofi::internet_address(name);
  const std::uint16_t port = ofi::internet_port(name);
  const TcpSocket* silent = nullptr;
  for (const TcpSocket& socket : sockets) {
    if (socket.other != address) continue;
    const bool is_exact = socket.is_own && socket.other_port == port;
    if (is_exact) return socket.is_silent() ? &socket : nullptr;
    if (!socket.is_own && socket.is_silent()) silent = &socket;
  }
  return silent;
}

std::string seconds_text(std::int64_t ns) {
  return std::to_string((ns + kSecondNs / 2) / kSecondNs) + " s";
}

}  // namespace

// ----- kept copies -----------------------------------------------------------------------------------------

/// Keeps a copy of packet `number`; `frame`: its bytes on the wire.
void OfiLink::keep(Peer& to, std::uint32_t number, const void* frame, std::size_t length) {
  if (to.kept == nullptr) [[unlikely]]
    to.kept = std::make_unique<KeptPackets>();
  KeptPackets::Packet& packet = to.kept->at(number);
  packet.length = static_cast<std::uint32_t>(length);
  std::memcpy(packet.bytes, frame, length);
}

/// Returns the copy of packet `number`; null if it was not kept.
const KeptPackets::Packet* OfiLink::find_kept(const Peer& to, std::uint32_t number) {
  if (to.kept == nullptr) return nullptr;
  const KeptPackets::Packet& packet = to.kept->at(number);
  Frame frame;
  std::memcpy(&frame, packet.bytes, sizeof frame);
  return packet.length != 0 && frame.sequence == number ? &packet : nullptr;
}

/// Sends the kept packets from number `first` on again. Returns whether packet `first` was kept.
bool OfiLink::send_again(int peer, std::uint32_t first) {
  Peer& to = at(peer);
  const bool has_first = find_kept(to, first) != nullptr;
  const std::uint32_t count = std::min<std::uint32_t>(to.sent - first, KeptPackets::kPackets);
  for (std::uint32_t number = to.sent - count; number != to.sent; ++number) {
    const KeptPackets::Packet* const packet = find_kept(to, number);
    Buffer* const buffer = packet != nullptr ? fabric_->take(ofi::kFrameAt + packet->length) : nullptr;
    if (buffer == nullptr) continue;
    std::memcpy(buffer->memory + ofi::kFrameAt, packet->bytes, packet->length);
    buffer->length = packet->length;
    note(peer, buffer);
    hand_over_or_queue(peer, buffer);
  }
  return has_first;
}

// ----- questions and answers -------------------------------------------------------------------------------

/// Returns a number that grows whenever anything moves between the two ranks.
std::uint64_t OfiLink::moves_of(const Peer& peer) {
  return std::uint64_t{peer.sent} + peer.received + peer.words_sent + peer.words_heard + peer.moves;
}

/// Returns how many packets have arrived from the peer without a gap; some of them may wait in `early`.
std::uint32_t OfiLink::come_from(const Peer& peer) {
  std::uint32_t come = peer.received;
  for (auto next = peer.early.find(come); next != peer.early.end() && next->first == come; ++next) ++come;
  return come;
}

/// A rank that waits, or polls often, calls this; it looks every kLookNs.
void OfiLink::look_at_pairs(std::int64_t now_ns) {
  if (now_ns < next_look_ns_) return;
  const bool was_away = now_ns - next_look_ns_ > kStillNs;  // what has come may not be read yet
  next_look_ns_ = now_ns + kLookNs;
  std::vector<int> still;
  int partners = 0;
  peers_.for_each([&](std::size_t peer, Peer& to) {
    if (to.said_bye && to.card != nullptr) look_for_rest(static_cast<int>(peer), was_away, now_ns);
    if (!to.connected || to.said_bye || to.gone || !may_send_to(to)) return;
    ++partners;
    look_for_gap(static_cast<int>(peer), now_ns);
    Watch& watch = to.watch;
    if (watch.still_ns == 0 || watch.moved != moves_of(to)) {
      watch.moved = moves_of(to);
      watch.still_ns = now_ns;
      watch.pause_ns = watch.lacking_ns = watch.silent_ns = 0;
      watch.probe.reset();
    } else if (now_ns - watch.still_ns >= kStillNs) {
      still.push_back(static_cast<int>(peer));
    }
  });
  pause_ns_max_ = std::max(kPauseNsMax, partners * kPausePerPeerNs);
  std::erase_if(still, [&](int peer) {
    if (!leaving_) ask(peer, now_ns);
    return at(peer).watch.asked == at(peer).watch.answered && !at(peer).is_unfinished();
  });
  if (!still.empty() && now_ns >= next_sockets_ns_) look_at_sockets(still, now_ns);
}

/// Asks an idle peer how many packets have arrived, if a question is due. The rank with the lower number asks
/// first, since libfabric may drop connections that both ends open at once.
void OfiLink::ask(int peer, std::int64_t now_ns) {
  Watch& watch = at(peer).watch;
  const auto order = [](const ProcessName& name) { return std::tuple(name.job, name.rank); };
  const std::int64_t later_ns = order(name(peer)) < order(name(rank_)) ? 2 * kLookNs : 0;
  const std::int64_t due_ns =
      watch.pause_ns == 0 ? watch.still_ns + kStillNs + later_ns : watch.asked_ns + watch.pause_ns;
  if (watch.is_asking || now_ns < due_ns) return;
  watch.pause_ns = watch.pause_ns == 0 ? kStillNs + later_ns : std::min(2 * watch.pause_ns, pause_ns_max_);
  watch.asked_ns = now_ns;
  watch.is_asking = say_what_has_come(peer, FrameKind::kAsk, ++watch.asked);
}

bool OfiLink::say_what_has_come(int peer, FrameKind kind, std::uint64_t question) {
  const ofi::CameWords words{question, come_from(at(peer)), at(peer).words_heard};
  return say(peer, kind, &words);
}

/// The peer waits. It may lack what this rank sent before it computed: that is sent again at once, since this
/// rank asks by itself only if it waits, too.
void OfiLink::hear_question(int peer, const ofi::CameWords& words) {
  say_what_has_come(peer, FrameKind::kTell, words.number);
  if (words.packets != at(peer).sent) send_again(peer, words.packets);
}

/// Tells the sender about a missing packet when later ones have arrived. The sender may never be idle, and so
/// may never ask.
void OfiLink::look_for_gap(int peer, std::int64_t now_ns) {
  Peer& from = at(peer);
  Watch& watch = from.watch;
  const std::uint32_t come = come_from(from);
  if (from.early.empty() || leaving_ || watch.gap_at != come) {
    watch.gap_at = come;
    watch.gap_ns = now_ns;
  } else if (now_ns - watch.gap_ns >= kStillNs) {
    watch.gap_ns = now_ns;
    say_what_has_come(peer, FrameKind::kTell, 0);
  }
}

/// A peer that has left sends again what this rank lacked when it heard the bye. What has not come long after
/// that is lost.
void OfiLink::look_for_rest(int peer, bool was_away, std::int64_t now_ns) {
  Peer& from = at(peer);
  Watch& watch = from.watch;
  const std::uint32_t come = come_from(from);
  if (come == from.bye_at || leaving_ || was_away || watch.gap_at != come) {
    watch.gap_at = come;
    watch.gap_ns = now_ns;
  } else if (now_ns - watch.gap_ns >= connect_ns_ / 2) {
    from.bye_at = come;  // in tests the job goes on
    lose(peer, "it has left, and the last packets that it sent have not come");
  }
}

void OfiLink::hear_answer(int peer, const ofi::CameWords& words, std::int64_t now_ns) {
  Peer& to = at(peer);
  Watch& watch = to.watch;
  if (words.number == 0) return hear_of_gap(peer, words.packets, now_ns);
  if (words.number != watch.asked || watch.moved != moves_of(to)) return;  // a later answer counts
  watch.answered = words.number;
  watch.silent_ns = 0;
  watch.probe.reset();
  const std::uint32_t lacking = (to.sent - words.packets) + (to.words_sent - words.words);
  if (lacking == 0) {
    watch.lacking_ns = 0;
    watch.pause_ns = pause_ns_max_;
    return;
  }
  watch.pause_ns = kStillNs;
  if (watch.lacking_ns == 0 || watch.come != words.packets + words.words) watch.lacking_ns = watch.asked_ns;
  watch.come = words.packets + words.words;
  if (watch.asked_ns - watch.lacking_ns >= connect_ns_ / 2)
    return lose(peer, std::to_string(lacking) + " of " + std::to_string(to.sent + to.words_sent) +
                          " packets to it have not come, for " + seconds_text(now_ns - watch.still_ns) +
                          ", though it answers");
  send_again(peer, words.packets);
}

void OfiLink::hear_of_gap(int peer, std::uint32_t come, std::int64_t now_ns) {
  Peer& to = at(peer);
  Watch& watch = to.watch;
  if (come == to.sent) return;
  if (watch.told_gap_at != come || watch.told_gap_ns == 0) watch.told_gap_ns = now_ns;
  watch.told_gap_at = come;
  const std::int64_t limit_ns = send_again(peer, come) ? connect_ns_ / 2 : connect_ns_ / 4;
  if (now_ns - watch.told_gap_ns >= limit_ns)
    lose(peer, "packet " + std::to_string(come) + " of " + std::to_string(to.sent) +
                   " has not come, though later ones have");
}

// ----- the kernel's sockets --------------------------------------------------------------------------------

void OfiLink::look_at_sockets(const std::vector<int>& peers, std::int64_t now_ns) {
  const std::vector<TcpSocket> sockets = ofi::find_tcp_sockets(card_.name);
  bool any = false;
  for (const int peer : peers) {
    Peer& to = at(peer);
    if (to.card == nullptr || !ofi::is_internet_address(to.card->name)) continue;
    const TcpSocket* const silent = find_silent(to.card->name, sockets);
    const bool heard = silent == nullptr || silent->quiet_ns < now_ns - to.watch.silent_ns - kLookNs;
    if (to.watch.silent_ns == 0 || heard) {
      to.watch.silent_ns = silent != nullptr ? now_ns : 0;
      to.watch.reached = false;
      to.watch.probe.reset();
      to.watch.trouble.clear();
    }
    if (silent == nullptr) continue;
    any = true;
    look_at_silent(peer, *silent, now_ns);
  }
  next_sockets_ns_ = now_ns + (any ? kLookNs : kStillNs);
}

/// The peer acknowledges nothing on this connection: probes whether its host accepts a new one.
void OfiLink::look_at_silent(int peer, const TcpSocket& socket, std::int64_t now_ns) {
  Watch& watch = at(peer).watch;
  if (!watch.reached && watch.probe == nullptr) {
    watch.probe = std::make_unique<ofi::Probe>();
    watch.probe->begin(card_.name, at(peer).card->name);
  }
  const auto state = watch.probe != nullptr ? watch.probe->look() : ofi::Probe::State::kNone;
  if (state == ofi::Probe::State::kConnected) {
    watch.reached = true;
    watch.reached_retransmissions = socket.retransmissions;
  } else if (state == ofi::Probe::State::kFailed) {
    watch.trouble = watch.probe->reason();
  }
  if (state == ofi::Probe::State::kConnected || state == ofi::Probe::State::kFailed) watch.probe.reset();
  const std::int64_t silent_ns = now_ns - watch.silent_ns;
  if (watch.reached && silent_ns >= connect_ns_ / 10 * 6 &&
      socket.retransmissions >= watch.reached_retransmissions + kRetransmissionsMin) {
    lose(peer, "nothing that is sent by the connection from " + socket.text + " has been acknowledged for " +
                   seconds_text(silent_ns) + ", though its host answers new connections");
  } else if (!watch.reached && silent_ns >= connect_ns_) {
    fail(peer, (watch.trouble.empty() ? "there is no answer to a connection" : watch.trouble) + " (for " +
                   seconds_text(silent_ns) + ")");
  }
}

/// Ends the job: packets are lost and cannot be sent again.
void OfiLink::lose(int peer, const std::string& what) {
  Peer& to = at(peer);
  to.watch.still_ns = 0;  // in tests the job goes on
  end_for(peer, ofi::text_of(rank_, card_) + " has lost the connection to " +
                    ofi::text_of(name(peer).rank, *to.card) +
                    (to.other != nullptr ? " of another job by " : " by ") + card_.provider + ": " + what +
                    "; look whether a firewall or an address translation (NAT) between the two ends or drops "
                    "connections");
}

// ----- reports ---------------------------------------------------------------------------------------------

void OfiLink::add_pair_counts(std::vector<PairCounts>* list) {
  behind_->add_pair_counts(list);
  const ofi::Inside inside(gate_);
  const std::int64_t now_ns = clock_.now_ns();
  peers_.for_each([&](std::size_t peer, Peer& to) {
    if (to.other != nullptr) return;
    PairCounts pair{.endpoint = static_cast<int>(peer)};
    pair.sent = to.sent + to.words_sent;
    pair.come = come_from(to) + to.words_heard;
    pair.waiting = static_cast<std::uint32_t>(to.copies.size()) +
                   static_cast<std::uint32_t>(to.copies_under_way) + (to.awaits_answer() ? 1 : 0);
    pair.still_ns = to.watch.still_ns != 0 ? now_ns - to.watch.still_ns : 0;
    if (pair.sent != 0 || pair.come != 0 || pair.waiting != 0) list->push_back(pair);
  });
}

}  // namespace tasuki
