// Advertised receives between nodes: a receiver names the buffer of a posted receive to the rank that it
// waits for, in a packet; a sender that comes later claims it, says so in a packet, and has the network write
// the message there. The name of the receive comes out of the receiver's link when all is there.
//
// The two ranks share no word that both could change, so the sender alone claims, and what it has been told
// may be old. Why that keeps MPI's order:
//
//  1. The sender claims a receive only where none of its messages can be on its way to take it: those that
//  had
//     not been processed when the last receive was advertised, and have its tag and context. It remembers the
//     last few. So the receiver need not take back what it matches with another message of the sender's: that
//     one has been sent, and the next advertisement says which lines are taken.
//  2. As in protocol/pair_page.hpp, 2: every earlier open receive that could match the same message is
//     advertised, too; advertisements arrive in order, and the sender takes the first that matches.
//  3. The claim is a packet (kWriting) that goes before the sender's later messages: they find the receive
//     gone. The bytes may pass it, and may come after those messages.
//  4. A receive is cancelled when its sender has answered that it has not claimed it. So MPI_Cancel needs the
//     sender's progress, for receives that are advertised to other nodes. A rank that uses sessions may have
//     left by then: their communicators' receives are not advertised. In MPI_Finalize ranks wait for one
//     another.
//
// A name is an index and a generation, 16 bits each: it goes with the network's write (Link::put_and_tell).
#include <algorithm>
#include <string>

#include "job/launcher.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kNamesMax = 1 << 16;
constexpr int kLineBits = 4;
static_assert(kAdvertisedReceives == 1 << kLineBits);

constexpr std::uint32_t name_of(std::size_t index, std::uint16_t generation) {
  return static_cast<std::uint32_t>(index) | std::uint32_t{generation} << 16;
}

}  // namespace

// ----- the sender ------------------------------------------------------------------------------------------

bool LargeMessages::may_claim_far(int endpoint, Count bytes) {
  const FarReceives* const far = far_receives(endpoint);
  return far != nullptr && !far->open.empty() && may_copy(endpoint, bytes);
}

/// Whether none of the messages that the receiver may not have processed takes that receive.
bool LargeMessages::is_untouched(int endpoint, const FarReceive& receive) {
  const FarReceives& far = *far_receives(endpoint);
  const auto sent = static_cast<std::uint32_t>(p2p_.peer(endpoint).sent);
  const std::uint32_t pending = sent - far.processed;
  if (pending > kNotedMax || pending > sent - far.noted_from) return false;
  for (std::uint32_t number = far.processed; number != sent; ++number) {
    const Envelope& message = far.noted[number % kNotedMax];
    if (message.context == receive.context && (receive.tag == kAnyTag || receive.tag == message.tag))
      return false;
  }
  return true;
}

void LargeMessages::note_sent(int endpoint, const Envelope& envelope) {
  const auto number = static_cast<std::uint32_t>(p2p_.peer(endpoint).sent) - 1;
  far_receives(endpoint)->noted[number % kNotedMax] = envelope;
}

LargeMessages::Advertised LargeMessages::claim_far(SendRequest& send) {
  const Count total = send.cursor.total_bytes();
  if (!may_claim_far(send.endpoint, total)) return Advertised::kNone;
  std::vector<FarReceive>& open = far_receives(send.endpoint)->open;
  const auto best = std::find_if(open.begin(), open.end(), [&](const FarReceive& one) {
    return (one.tag == send.envelope.tag || one.tag == kAnyTag) && one.context == send.envelope.context;
  });
  if (best == open.end() || !is_untouched(send.endpoint, *best)) return Advertised::kNone;
  LargeEnd& end = end_of(send);
  if (!end.here.exists() || !end.here.dense()) return Advertised::kNone;
  end.by_network = true;
  end.theirs = best->buffer;
  end.bytes = std::min(total, static_cast<Count>(best->buffer.bytes));
  end.name = best->name;
  end.other = best->name;
  open.erase(best);
  return Advertised::kClaimed;
}

/// The claim has been said: has the network write.
void LargeMessages::write_far(LargeEnd& end) {
  const auto* const from = reinterpret_cast<const void*>(end.here.address);
  if (!p2p_.link->put_and_tell(end.endpoint, end.theirs, 0, from, static_cast<std::size_t>(end.bytes),
                               end.name, &end.network_done))
    p2p_.process.launcher.end_damaged(end.endpoint, "the buffer of a receive that it has advertised");
  end.network_done != 0 ? finish(end) : active_.push_back(&end);
}

void LargeMessages::advertised(const Packet& packet) {
  const AdvertiseHeader header = header_of<AdvertiseHeader>(packet);
  const auto lines = static_cast<std::uint32_t>(lead_source(header.lead));
  const int line = static_cast<int>(lines & (kAdvertisedReceives - 1));
  const std::uint32_t taken = lines >> kLineBits;
  if (!is_far(packet.source) || header.capacity == 0 || (taken & 1u << line) == 0)
    p2p_.damaged(packet, "an advertisement of no receive");
  FarPeer& from = far_peer(packet.source);
  if (from.theirs == nullptr) {
    from.theirs = std::make_unique<FarReceives>(p2p_.peer(packet.source).sent);
    p2p_.peer(packet.source).is_noted = true;
  }
  std::erase_if(from.theirs->open,
                [&](const FarReceive& one) { return one.line == line || (taken & 1u << one.line) == 0; });
  from.theirs->open.push_back({.line = line,
                               .tag = header.tag,
                               .context = header.context,
                               .name = header.name,
                               .buffer = {header.address, header.capacity, header.access}});
  from.theirs->processed = header.processed;
}

void LargeMessages::asked_back(const Packet& packet) {
  const RequestId name = header_of<AnswerHeader>(packet).receiver;
  FarReceives* const far = far_receives(packet.source);
  if (far == nullptr) p2p_.damaged(packet, "a question for a receive that was never advertised");
  // What has been claimed since is written, and the receiver has been told so.
  if (std::erase_if(far->open, [&](const FarReceive& one) { return one.name == name; }) == 0) return;
  p2p_.answer(packet.source, AnswerHeader{.lead = lead_word(PacketKind::kTakenBack), .receiver = name});
}

// ----- the receiver ----------------------------------------------------------------------------------------

void LargeMessages::posted_far(ReceiveRequest& receive, int endpoint) {
  if (!is_far(endpoint) || receive.comm->session || p2p_.link->copies_long_only(endpoint) ||
      !may_copy(endpoint, receive.capacity()))
    return;
  LargeEnd& end = *ends_.make();
  receive.large = &end;
  end.receive = &receive;
  end.endpoint = endpoint;
  end.here = receive.strided_buffer();
  if (!name_own(end, receive.capacity())) return forget(receive);
  if (!advertise(receive)) held_back_.push_back(p2p_.receives.id(&receive));
}

/// Takes a free line and a name, if there are any.
bool LargeMessages::advertise_far(LargeEnd& end) {
  FarPeer& from = far_peer(end.endpoint);
  if (from.open_lines == kAllLines) return false;
  if (free_names_.empty()) {
    if (names_.size() == kNamesMax) return false;
    free_names_.push_back(static_cast<std::uint16_t>(names_.size()));
    names_.emplace_back();
  }
  const std::uint16_t index = free_names_.back();
  free_names_.pop_back();
  Name& name = names_[index];
  name.end = &end;
  end.name = name_of(index, ++name.generation);
  if (from.open_lines == 0) advertising_.push_back(end.endpoint);
  end.line = __builtin_ctz(~from.open_lines);
  from.open_lines |= 1u << end.line;
  const ReceiveRequest& receive = *end.receive;
  const AdvertiseHeader header{
      .lead = lead_word(PacketKind::kAdvertise, static_cast<int>(from.open_lines << kLineBits) | end.line),
      .tag = receive.tag,
      .context = receive.context,
      .name = end.name,
      .processed = static_cast<std::uint32_t>(p2p_.peer(end.endpoint).arrived),
      .address = end.own.word,
      .access = end.own.access,
      .capacity = end.own.bytes};
  p2p_.answer(end.endpoint, as_answer(header));
  return true;
}

/// The advertisement is over: its line and its name are free.
void LargeMessages::release_far(LargeEnd& end) {
  const std::uint32_t index = end.name & (kNamesMax - 1);
  names_[index].end = nullptr;
  free_names_.push_back(static_cast<std::uint16_t>(index));
  FarPeer& from = far_peer(end.endpoint);
  from.open_lines &= ~(1u << end.line);
  if (from.open_lines == 0) end_advertising(end.endpoint);
  end.line = -1;
}

/// What this rank has advertised under that name and not withdrawn; null: nothing.
LargeEnd* LargeMessages::named(std::uint64_t name) {
  const std::size_t index = name & (kNamesMax - 1);
  if (index >= names_.size() || names_[index].end == nullptr) return nullptr;
  return names_[index].end->name == name ? names_[index].end : nullptr;
}

void LargeMessages::writing_far(const Packet& packet) {
  const WritingHeader header = header_of<WritingHeader>(packet);
  LargeEnd* const end = named(header.receiver);
  const auto bytes = static_cast<Count>(header.bytes);
  if (end == nullptr || end->endpoint != packet.source || end->announced || bytes <= 0)
    p2p_.damaged(packet, "a message that is written to no receive");
  ReceiveRequest& receive = *end->receive;
  if (receive.queue == nullptr)
    p2p_.damaged(packet, "a message that is written to a receive which has another");
  end->announced = true;
  p2p_.matching.remove(&receive);
  p2p_.peer(packet.source).expects_short = false;
  p2p_.count_received(Way::kSenderWrite, bytes, packet.source, kAdvertisedFar, false);
  p2p_.open(receive, lead_source(header.lead), header.tag, bytes, packet.source);
  if (end->written) finish_written(*end);
}

void LargeMessages::written(std::uint32_t name) {
  LargeEnd* const end = named(name);
  if (end == nullptr || end->written)
    p2p_.process.launcher.abort(1,
                                "rank " + std::to_string(p2p_.process.rank) +
                                    ": the network says that a message was written to a receive that there "
                                    "is not: number " +
                                    std::to_string(name));
  end->written = true;
  if (end->announced) finish_written(*end);
}

void LargeMessages::finish_written(LargeEnd& end) {
  ReceiveRequest& receive = *end.receive;
  release_far(end);
  p2p_.complete(receive);
}

bool LargeMessages::may_cancel(ReceiveRequest& receive) {
  LargeEnd& end = *receive.large;
  if (end.line < 0 || !is_far(end.endpoint)) return withdraw(receive);
  if (end.asked_back) return false;
  end.asked_back = true;
  p2p_.answer(end.endpoint, AnswerHeader{.lead = lead_word(PacketKind::kTakeBack), .receiver = end.name});
  return false;
}

/// Of a receive that may have met a message since it was asked for: then its name is no longer known.
void LargeMessages::taken_back(const Packet& packet) {
  LargeEnd* const end = named(header_of<AnswerHeader>(packet).receiver);
  if (end == nullptr) return;
  if (end->endpoint != packet.source || !end->asked_back || end->announced || end->written)
    p2p_.damaged(packet, "an answer to a question that was not asked");
  ReceiveRequest& receive = *end->receive;
  withdraw(receive);
  p2p_.matching.remove(&receive);
  receive.status.cancelled = true;
  p2p_.complete(receive);
}

}  // namespace tasuki
