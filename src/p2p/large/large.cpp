// LargeMessages: the copying, and the packets that begin and end it.
#include "p2p/large/large.hpp"

#include <algorithm>
#include <utility>

#include "base/system/processor_hints.hpp"
#include "job/launcher.hpp"
#include "node/node.hpp"
#include "p2p/point_to_point.hpp"
#include "protocol/write.hpp"

namespace tasuki {
namespace {

/// What one turn copies of one message, so that others get their turn.
constexpr Count kTurnBytes = Count{1} << 20;
constexpr Count kAll = INT64_MAX;
/// Of a copy that both do: few enough claims to cost nothing, and so small a last piece that nobody waits
/// long.
constexpr ClaimSizes kPieces{.divisor = 3, .bytes_min = 16 * kKibi, .bytes_max = 256 * kKibi};
constexpr int kLastPieceLooks = 200;
/// So often a rank that does not wait looks at a copy that it has left to the other end, and sees that
/// nothing happens, before it copies itself: that one may be unable to, or have much else to do; and who
/// looks that often between two pieces does nothing else.
constexpr int kLooksInVainMax = 64;
/// The same where ranks share processors, and others run between two looks.
constexpr int kLooksInVainMaxSharing = 4;

}  // namespace

LargeMessages::LargeMessages(PointToPoint& p2p)
    : p2p_(p2p),
      memory_(*p2p.process.symmetric_heap),
      far_(static_cast<std::size_t>(p2p.link->endpoints())),
      peers_(far_.size()),
      far_peers_(far_.size()) {
  const Node& node = p2p.process.node;
  for (std::size_t rank = 0; rank < far_.size(); ++rank)
    far_[rank] = node.has(static_cast<int>(rank)) ? 0 : 1;
}

const DistanceTable& LargeMessages::table_for(int endpoint) {
  return p2p_.table.at(p2p_.distances.to(endpoint));
}

SymmetricAddress LargeMessages::global_address(int endpoint, const StridedBuffer& here, Count bytes) const {
  const StridedBuffer::Span span =
      here.exists() && is_local(endpoint) ? here.span(bytes) : StridedBuffer::Span{};
  if (span.bytes == 0) return 0;
  if (here.listed() && !memory_.locate(here.list(), here.list_bytes()).is_shared()) return 0;
  const SymmetricAddress first =
      memory_.locate(reinterpret_cast<const void*>(span.begin), span.bytes).address;
  return first != 0 ? first + (here.address - span.begin) : 0;
}

StridedBuffer LargeMessages::as_shared(int endpoint, const StridedBuffer& here, Count bytes) const {
  const SymmetricAddress global = global_address(endpoint, here, bytes);
  if (global == 0) return {};
  return {global, here.stride, here.block_bytes};
}

bool LargeMessages::reach(int endpoint, const StridedBuffer& buffer, Count bytes) {
  if (!buffer.exists() || !buffer.is_sound()) return false;
  if (buffer.listed()) {
    const auto list = reinterpret_cast<SymmetricAddress>(buffer.list());
    if (!memory_.locate(endpoint, list, buffer.list_bytes()).is_shared()) return false;
  }
  const StridedBuffer::Span span = buffer.span(bytes);
  return span.bytes != 0 && memory_.locate(endpoint, span.begin, span.bytes).is_shared();
}

// ----- the sender ------------------------------------------------------------------------------------------

LargeEnd& LargeMessages::end_of(SendRequest& send) {
  if (send.large == nullptr) {
    send.large = ends_.make();
    send.large->send = &send;
    send.large->endpoint = send.endpoint;
    send.large->here = strided_buffer(send.buffer, send.count, *send.datatype);
    send.large->global = global_address(send.endpoint, send.large->here, send.cursor.total_bytes());
  }
  return *send.large;
}

/// Whether the sender may take part in the copy.
bool LargeMessages::may_be_shared(int endpoint, Count bytes) {
  const bool is_long = bytes >= table_for(endpoint).cooperative_bytes_min;
  return is_streamed_to(endpoint, bytes) || (is_long && !exchanging_);
}

void LargeMessages::lend_copy(LargeEnd& end) {
  Peer& to = peer(end.endpoint);
  if (to.gets_used == UINT32_MAX || page(to.out, p2p_.link->self(), end.endpoint) == nullptr) return;
  end.line = __builtin_ctz(~to.gets_used);
  to.gets_used |= 1u << end.line;
  end.copy = &to.out->gets[end.line].copy;
  end.generation = ++to.get_generations[static_cast<std::size_t>(end.line)];
  end.copy->start(end.generation);
}

bool LargeMessages::write_alone(SendRequest& send) {
  if (is_local(send.endpoint) && claim(send) == Advertised::kClaimed) {
    carry(*send.large, kAll);
    return true;
  }
  if (send.large != nullptr) forget(send);
  return false;
}

bool LargeMessages::open(SendRequest& send) {
  LargeEnd& end = end_of(send);
  const Count bytes = send.cursor.total_bytes();
  StridedBuffer source;  // as the receiver gets it
  if (end.global != 0) source = {end.global, end.here.stride, end.here.block_bytes};
  if (send.protocol == Protocol::kSenderWrite) {
    if (end.here.listed()) source = {};  // this rank may be done before the receiver reads the list
    return write_writing(*p2p_.link, send.endpoint,
                         WritingHeader{.lead = lead_word(PacketKind::kWriting, send.envelope.source),
                                       .tag = send.envelope.tag,
                                       .receiver = end.other,
                                       .bytes = static_cast<std::uint64_t>(bytes),
                                       .address = source.address,
                                       .stride = source.stride,
                                       .block_bytes = source.block_bytes,
                                       .line = static_cast<std::uint32_t>(end.line)});
  }
  if (end.global != 0 && !end.here.listed() && end.copy == nullptr && p2p_.table.cooperative &&
      may_be_shared(end.endpoint, bytes)) {
    lend_copy(end);
  }
  if (send.may_be_set_aside) lend_aside(end, bytes);
  SourceKind kind = SourceKind::kIrregular;
  if (p2p_.table.get && may_copy(send.endpoint, bytes) && name_own(end, bytes)) {
    kind = SourceKind::kNamed;
    source = {end.own.word, static_cast<std::int64_t>(end.own.access), 0};
  } else if (end.global != 0) {
    kind = SourceKind::kGlobal;
  } else if (end.here.exists()) {
    kind = SourceKind::kPrivate;
  }
  return write_request_to_send(
      *p2p_.link, send.endpoint,
      RequestToSendHeader{
          .lead = with_aside(lead_word(PacketKind::kRequestToSend, send.envelope.source), end.aside_line),
          .tag = send.envelope.tag,
          .context = send.envelope.context,
          .bytes = static_cast<std::uint64_t>(bytes),
          .sender = p2p_.sends.id(&send),
          .address = source.address,
          .stride = source.stride,
          .block_bytes = source.block_bytes,
          .generation = static_cast<std::uint16_t>(end.generation),
          .get = end.copy != nullptr ? static_cast<std::uint8_t>(end.line) : kNoGet,
          .source_kind = kind});
}

void LargeMessages::sender_write(SendRequest& send) {
  LargeEnd& end = *send.large;
  if (end.by_network) return write_far(end);
  const Progress& progress = *p2p_.process.progress;
  if (end.is_left || (progress.is_locking() && (deferring_ || progress.is_polling())))
    return active_.push_back(&end);
  bool over = carry(end, kAll);
  // The receiver's last piece is on its way: where there are processors enough, it is there in a moment.
  const int looks_max = p2p_.process.progress->may_spin() ? kLastPieceLooks : 0;
  for (int looks = 0; !over && looks < looks_max; ++looks) {
    relax_processor();
    over = end.part.look();
  }
  over ? finish(end) : active_.push_back(&end);
}

void LargeMessages::get_begins(SendRequest& send, const Packet& packet) {
  const AnswerHeader header = header_of<AnswerHeader>(packet);
  LargeEnd& end = *send.large;
  end.bytes = static_cast<Count>(header.bytes_wanted);
  if (end.copy == nullptr || end.bytes <= 0 || end.bytes > send.cursor.total_bytes()) {
    p2p_.damaged(packet, "an offer to share that does not fit its message");
  }
  p2p_.count_sent(Way::kCooperative, send.cursor.total_bytes(), end.endpoint, kReceiverChose);
  const StridedBuffer there{header.address, header.stride, header.block_bytes};
  if (reach(end.endpoint, there, end.bytes)) end.there = there;
  end.streamed = is_streamed_to(end.endpoint, end.bytes);
  begin(end, kTurnBytes);
}

bool LargeMessages::put(SendRequest& send, const AnswerHeader& header) {
  const StridedBuffer there{header.address, header.stride, header.block_bytes};
  LargeEnd& end = *send.large;
  const auto bytes = static_cast<Count>(header.bytes_wanted);
  if (!is_local(end.endpoint)) return put_by_network(end, header);
  if (!reach(end.endpoint, there, bytes) || !(end.here.exists() || there.dense())) return false;
  end.bytes = bytes;
  end.other = header.receiver;
  p2p_.count_sent(Way::kPut, send.cursor.total_bytes(), end.endpoint, kReceiverChose);
  if (end.copy != nullptr) {  // lent in vain
    peer(end.endpoint).gets_used &= ~(1u << end.line);
    end.copy = nullptr;
  }
  end.there = there;
  end.streamed = is_streamed_to(end.endpoint, bytes);
  begin(end, kTurnBytes);
  return true;
}

void LargeMessages::forget(SendRequest& send) {
  LargeEnd* const end = send.large;
  send.large = nullptr;
  if (end->copy != nullptr && send.protocol == Protocol::kLong) {
    peer(end->endpoint).gets_used &= ~(1u << end->line);
  }
  if (end->aside_line >= 0) release_aside(*end);
  unname(*end);
  ends_.destroy(end);
}

void LargeMessages::forget(ReceiveRequest& receive) {
  LargeEnd* const end = std::exchange(receive.large, nullptr);
  unname(*end);
  ends_.destroy(end);
}

// ----- the receiver ----------------------------------------------------------------------------------------

void LargeMessages::matched(ReceiveRequest& receive, const LongMessage& said, Count bytes,
                            bool message_first) {
  const Count wanted = std::min(bytes, receive.capacity());
  receive.bytes_wanted = wanted;
  if (!is_local(receive.endpoint)) return matched_far(receive, said, bytes, message_first);
  const LongMessage message = said.aside < 0 ? said : take(receive.endpoint, said);
  const StridedBuffer here = wanted != 0 ? receive.strided_buffer() : StridedBuffer{};
  const SymmetricAddress global = global_address(receive.endpoint, here, wanted);
  const bool may_lend = message.get < kGets && !here.listed();  // see large.hpp, 3
  const LongFacts facts{.bytes = wanted,
                        .distance = global != 0 ? p2p_.distances.to(receive.endpoint) : Distance::kMachine,
                        .source_symmetric = wanted != 0 && p2p_.table.get &&
                                            message.kind == SourceKind::kGlobal &&
                                            reach(receive.endpoint, message.source, wanted),
                        .source_regular = message.kind != SourceKind::kIrregular,
                        .source_dense = message.source.dense(),
                        .destination_symmetric = global != 0,
                        .destination_regular = here.exists(),
                        .destination_dense = here.dense(),
                        .streamed = global != 0 && is_streamed_from(receive.endpoint, wanted),
                        .copy_lent = may_lend};
  const Choice choice = choose_long(facts, p2p_.table);
  p2p_.count_received(choice.way, bytes, receive.endpoint, why_text(choice.why), message_first);
  AnswerHeader answer{.lead = lead_word(PacketKind::kClearToSend),
                      .sender = message.sender,
                      .receiver = p2p_.receives.id(&receive),
                      .bytes_wanted = static_cast<std::uint64_t>(wanted)};
  if (choice.way == Way::kTwoCopy) {
    receive.streaming = wanted != 0;
    p2p_.answer(receive.endpoint, answer);
    if (wanted == 0) p2p_.complete(receive);
    return;
  }
  if (choice.way == Way::kPut || choice.way == Way::kCooperative) {
    answer.address = global;
    answer.stride = here.stride;
    answer.block_bytes = here.block_bytes;
  }
  if (choice.way == Way::kPut) {
    receive.put_to = receive.streaming = true;
    return p2p_.answer(receive.endpoint, answer);
  }
  LargeEnd& end = *ends_.make();
  receive.large = &end;
  end.receive = &receive;
  end.endpoint = receive.endpoint;
  end.here = here;
  end.there = message.source;
  end.bytes = wanted;
  end.other = message.sender;
  if (choice.way == Way::kCooperative) {
    Peer& from = peer(end.endpoint);
    end.copy = &page(from.in, end.endpoint, p2p_.link->self())->gets[message.get].copy;
    end.generation = message.generation;
    end.streamed = facts.streamed;
    answer.lead = lead_word(PacketKind::kGetBegins);
    p2p_.answer(end.endpoint, answer);
  }
  begin(end, kTurnBytes);
}

void LargeMessages::writing(const Packet& packet) {
  if (!is_local(packet.source)) return writing_far(packet);
  const WritingHeader header = header_of<WritingHeader>(packet);
  look_at_sample(packet.source, static_cast<Count>(header.bytes));
  ReceiveRequest* const receive = p2p_.receives.find(header.receiver);
  LargeEnd* const end = receive != nullptr ? receive->large : nullptr;
  const auto bytes = static_cast<Count>(header.bytes);
  if (end == nullptr || receive->queue == nullptr || end->endpoint != packet.source || bytes <= 0 ||
      end->line < 0 || end->line != static_cast<int>(header.line)) {
    p2p_.damaged(packet, "a message that is written to no receive");
  }
  end->generation = ++peer(packet.source).peer_claims[static_cast<std::size_t>(end->line)];
  p2p_.matching.remove(receive);
  p2p_.peer(packet.source).expects_short = false;
  p2p_.count_received(Way::kSenderWrite, bytes, packet.source, "the receive buffer is symmetric memory",
                      false);
  p2p_.open(*receive, lead_source(header.lead), header.tag, bytes, packet.source);
  end->bytes = std::min(bytes, receive->capacity());
  const StridedBuffer there{header.address, header.stride, header.block_bytes};
  if (reach(end->endpoint, there, end->bytes)) end->there = there;
  begin(*end, kTurnBytes);
}

void LargeMessages::put_done(const Packet& packet) {
  ReceiveRequest* const receive = p2p_.receives.find(header_of<AnswerHeader>(packet).receiver);
  if (receive == nullptr || !receive->put_to || receive->endpoint != packet.source) {
    p2p_.damaged(packet, "the end of a copy to no receive that waits for one");
  }
  receive->put_to = false;
  p2p_.complete(*receive);
}

// ----- copying ---------------------------------------------------------------------------------------------

void LargeMessages::begin(LargeEnd& end, Count budget) {
  if (end.copy != nullptr) {
    end.part = CooperativeCopyEnd(end.copy, end.generation, end.bytes, end.send != nullptr);
  }
  bool is_now = !p2p_.process.progress->is_locking();
  if (is_shared(end)) {
    const bool waits = p2p_.awaiting != nullptr;
    if (waits) show_waiting_to(end.endpoint);
    is_now = is_now && waits && (end.send != nullptr || !(end.streamed || has_own_to_copy()));
  }
  if (is_now && carry(end, budget)) return finish(end);
  active_.push_back(&end);
}

/// Whether this rank does not wait, and the other end does; or that one would write past its caches.
bool LargeMessages::is_left_to_other(LargeEnd& end) {
  if (!is_shared(end)) return false;
  if (end.receive != nullptr && end.streamed) return true;
  if (p2p_.awaiting != nullptr) return false;
  const PairPage* const from = page(peer(end.endpoint).in, end.endpoint, p2p_.link->self());
  return from != nullptr && from->sender_waits.load(std::memory_order_relaxed) != 0;
}

/// Whether there is a message of this rank's own of which it may copy more.
bool LargeMessages::has_own_to_copy() const {
  return std::any_of(active_.begin(), active_.end(), [](const LargeEnd* end) {
    return end->send != nullptr && end->there.exists() && (end->copy == nullptr || end->part.has_unclaimed());
  });
}

void LargeMessages::show_waiting() {
  for (const LargeEnd* const end : active_) {
    if (is_shared(*end)) show_waiting_to(end->endpoint);
  }
}

void LargeMessages::show_waiting_to(int endpoint) {
  Peer& to = peer(endpoint);
  if (to.is_told_waiting || !p2p_.process.progress->may_spin()) return;
  PairPage* const shared = page(to.out, p2p_.link->self(), endpoint);
  if (shared == nullptr) return;
  to.is_told_waiting = true;
  shared->sender_waits.store(1, std::memory_order_relaxed);
  shown_waiting_.push_back(endpoint);
}

void LargeMessages::hide_waiting() {
  for (const int endpoint : shown_waiting_) {
    Peer& to = peer(endpoint);
    to.is_told_waiting = false;
    to.out->sender_waits.store(0, std::memory_order_relaxed);
  }
  shown_waiting_.clear();
}

bool LargeMessages::poll() {
  bool moved = false;
  const bool own_first = has_own_to_copy();
  for (std::size_t i = 0; i < active_.size();) {
    LargeEnd& end = *active_[i];
    if (end.in_hand) {
      ++i;
      continue;
    }
    end.in_hand = true;
    const Count before = end.copied;
    const bool helps_later = own_first && end.receive != nullptr && is_shared(end);
    const bool over = helps_later ? end.part.look() : carry_turn(end, kTurnBytes);
    end.in_hand = false;
    moved |= over || end.copied != before;
    if (over) {
      take_out(end, i);
      finish(end);
    } else {
      ++i;
    }
  }
  for (const int endpoint : advertising_) publish(endpoint);
  if (!held_back_.empty()) retry_held_back();
  return moved;
}

/// Out of `active_`, where it stood at `place` before other threads may have changed it.
void LargeMessages::take_out(const LargeEnd& end, std::size_t place) {
  if (place >= active_.size() || active_[place] != &end)
    place = static_cast<std::size_t>(std::find(active_.begin(), active_.end(), &end) - active_.begin());
  active_[place] = active_.back();
  active_.pop_back();
}

/// As carry(), but that it leaves to the other end what that one does.
bool LargeMessages::carry_turn(LargeEnd& end, Count budget) {
  if (!is_left_to_other(end)) return carry(end, budget);
  const std::uint64_t before = end.part.seen();
  if (end.part.look()) return true;
  end.looks_in_vain = end.part.seen() == before ? end.looks_in_vain + 1 : 0;
  const int looks_max = p2p_.process.progress->may_spin() ? kLooksInVainMax : kLooksInVainMaxSharing;
  return end.looks_in_vain > looks_max && carry(end, budget);
}

/// Copies what this rank can, up to `budget` bytes. Returns whether all of the message has been copied.
bool LargeMessages::carry(LargeEnd& end, Count budget) {
  if (end.by_network) return end.network_done != 0;
  if (end.copy == nullptr) return carry_alone(end, budget);
  const bool over = end.there.exists() ? carry_part(end, budget) : end.part.look();
  if (end.part.is_damaged()) [[unlikely]]
    p2p_.process.launcher.end_damaged(end.endpoint, "how far the copy of a message is");
  return over;
}

bool LargeMessages::carry_part(LargeEnd& end, Count budget) {
  const ClaimSizes sizes = end.send != nullptr && end.streamed ? ClaimSizes{.divisor = 1} : kPieces;
  ByteRange piece = end.claimed.empty() ? end.part.claim({}, sizes) : std::exchange(end.claimed, {});
  if (piece.empty()) return end.part.look();
  for (Count done = 0; !piece.empty(); piece = end.part.claim(piece, sizes)) {
    move(end, piece.begin, piece.end);
    end.copied += piece.bytes();
    done += piece.bytes();
    if (done < budget) continue;
    end.part.report(piece);
    break;
  }
  if (!end.part.is_over()) return false;
  p2p_.process.node.wake(end.endpoint);
  return true;
}

bool LargeMessages::carry_alone(LargeEnd& end, Count budget) {
  const Count to = end.copied + std::min(end.bytes - end.copied, budget);
  move(end, end.copied, to);
  end.copied = to;
  return to == end.bytes;
}

/// Copies the message's bytes [begin, to), without the process lock.
void LargeMessages::move(LargeEnd& end, Count begin, Count to) {
  const Progress::Release released(*p2p_.process.progress, to - begin);
  copy(end, begin, to);
}

void LargeMessages::copy(LargeEnd& end, Count begin, Count to) {
  if (end.send != nullptr) map_pages(end.there, begin, to);
  if (end.here.exists()) {
    return end.send != nullptr ? copy_strided(end.here, end.there, begin, to, end.streamed)
                               : copy_strided(end.there, end.here, begin, to);
  }
  // An irregular type, and a dense run at the other end.
  auto* const other = reinterpret_cast<std::byte*>(end.there.address + static_cast<std::uint64_t>(begin));
  const auto bytes = static_cast<std::size_t>(to - begin);
  if (end.send != nullptr) {
    end.send->cursor.seek(begin);
    end.send->cursor.pack(end.send->buffer, other, bytes);
  } else {
    end.receive->cursor.seek(begin);
    end.receive->cursor.unpack(end.receive->buffer, other, bytes);
  }
}

/// The line of `copy` is to serve another message of this rank's: the one before is over, for the
/// receiver has freed the line, though this rank may not have looked since.
void LargeMessages::retire(const CooperativeCopy& copy) {
  const auto found =
      std::find_if(active_.begin(), active_.end(), [&](const LargeEnd* end) { return end->copy == &copy; });
  if (found == active_.end()) return;
  LargeEnd& end = **found;
  *found = active_.back();
  active_.pop_back();
  finish(end);
}

/// All has been copied: tells the other end, where it cannot see that, and completes the request.
void LargeMessages::finish(LargeEnd& end) {
  if (SendRequest* const send = end.send) {
    if (end.copy == nullptr && send->protocol != Protocol::kSenderWrite) {
      p2p_.answer(end.endpoint, AnswerHeader{.lead = lead_word(PacketKind::kPutDone), .receiver = end.other});
    }
    return p2p_.complete(*send);
  }
  ReceiveRequest& receive = *end.receive;
  if (end.copy == nullptr) {
    p2p_.answer(end.endpoint, AnswerHeader{.lead = lead_word(PacketKind::kGetDone), .sender = end.other});
  }
  receive.large = nullptr;
  if (end.line >= 0) release_line(end.endpoint, end.line);
  ends_.destroy(&end);
  p2p_.complete(receive);
}

}  // namespace tasuki
