// OfiLink: what comes in.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "link/ofi/ofi_link.hpp"

namespace tasuki {
namespace {

using ofi::Buffer;
using ofi::Completion;
using ofi::Frame;
using ofi::FrameKind;

constexpr std::size_t kCompletionsPerPoll = 32;
constexpr std::uint32_t kLateMax = 1 << 16;   // nor one that is late by more
constexpr std::uint32_t kEarlyMax = 1 << 16;  // a packet that is early by more cannot be right
// Between two looks at a network from which nothing comes, by a rank that has others on its node: a look is a
// system call.
constexpr std::int64_t kIdlePollNs = 500;
constexpr std::uint32_t kPollsPerLook = 1024;  // at pairs that stand still, of a rank that does not sleep
constexpr std::int64_t kClockNs = 50'000'000;  // between two looks at the peers' clocks
constexpr int kReadingsWithRegions = 4;
constexpr std::uint32_t kPollsAwakeMax =
    256;  // one after the other, before the network is asked not to wake this rank
// No endpoints: of a packet that has no secret, and of one that has this process's key.
constexpr int kStranger = -1;
constexpr int kNewcomer = -2;

Frame received_frame(const Buffer& buffer) {
  Frame frame;
  std::memcpy(&frame, buffer.memory + ofi::kFrameAt, sizeof frame);
  return frame;
}

}  // namespace

int OfiLink::poll(PacketSink& sink) {
  if (polling_) return 0;
  polling_ = true;
  const ofi::Inside inside(gate_);
  ++polls_;
  polls_awake_ = armed_ == 0 ? polls_awake_ + 1 : 0;
  if (polls_awake_ == kPollsAwakeMax) fabric_->expect_no_events();
  if (!bundled_.empty()) send_bundles();
  int delivered = behind_->poll(sink);
  if (alone_ || armed_ != 0 || clock_.now_ns() >= next_poll_ns_) {
    if (!held_.empty() || !held_words_.empty()) [[unlikely]]
      delivered += deliver_held(sink);
    const auto events = armed_ != 0 ? fabric_->expect_events() : ofi::Fabric::Events::kNone;
    if (events == ofi::Fabric::Events::kClosed) wiring_.fail(closed_descriptor());
    const int come = poll_network(&sink);
    if (!alone_) next_poll_ns_ = come != 0 ? 0 : clock_.now_ns() + kIdlePollNs;
    delivered += come;
    if (!others_.empty()) [[unlikely]]
      follow_others(sink, clock_.now_ns());
    if (armed_ != 0) look_whether_quiet(events);
  }
  if (!bundled_.empty()) send_bundles();  // of answers to what has come
  polling_ = false;
  return delivered;
}

/// Before this rank sleeps. A read stops behind each packet and each copy, and what is left then does not
/// wake: so there has to have been nothing to read. Of a peer's copies only the bytes are seen: there several
/// readings are to be in vain, and sleep() is not for long.
void OfiLink::look_whether_quiet(ofi::Fabric::Events events) {
  const bool in_vain = events == ofi::Fabric::Events::kNone && read_ == 0;
  readings_in_vain_ = in_vain ? readings_in_vain_ + 1 : 0;
  const bool has_regions = fabric_->has_regions();
  has_regions_.store(has_regions, std::memory_order_relaxed);
  const int wanted = has_regions ? kReadingsWithRegions : 1;
  quiet_.store(readings_in_vain_ >= wanted && fabric_->can_wait(), std::memory_order_relaxed);
}

/// Without a sink packets are held, and only words between the links are heard.
int OfiLink::poll_network(PacketSink* sink) {
  int delivered = 0;
  if (!has_secret_) has_secret_ = wiring_.secret(&secret_);
  if (has_secret_) {  // strangers are told from peers by it
    Completion done[kCompletionsPerPoll];
    const auto count = static_cast<std::size_t>(fabric_->read(done));
    read_ = count;
    for (std::size_t i = 0; i < count; ++i) {
      const auto [work, bytes, error, word] = done[i];
      if (work == nullptr) {
        written(word, sink);
        ++delivered;
        continue;
      }
      if (work->is_copy) {
        if (copied(static_cast<ofi::Copy*>(work), error)) ++delivered;
        continue;
      }
      Buffer* const buffer = static_cast<Buffer*>(work);
      if (buffer->peer >= 0) {
        sent(buffer, error);
        continue;
      }
      --posted_;
      if (error != 0) {
        // Longer than any of ours; or its connection has ended in its middle, which its sender is told, too.
        if (error == FI_ETRUNC) drop_stranger(bytes);
        post(buffer);
      } else {
        delivered += received(buffer, bytes, sink);
      }
    }
  }
  const bool looks = armed_ != 0 || leaving_ || ++polls_without_look_ >= kPollsPerLook;
  if (looks) {
    polls_without_look_ = 0;
    look_at_pairs(clock_.now_ns());
  }
  if (unfinished_.empty() && has_secret_) return delivered;
  const std::int64_t now_ns = clock_.now_ns();
  send_backlogs(now_ns);
  if (!unfinished_.empty() && now_ns >= next_clock_ns_) {
    next_clock_ns_ = now_ns + kClockNs;
    look_at_clocks(now_ns);
  }
  return delivered;
}

/// Whose packet it says to be.
int OfiLink::source_of(const Frame& frame) const {
  if (frame.secret == secret_) return static_cast<int>(std::min<std::uint32_t>(frame.source, INT32_MAX));
  if (has_key_ && frame.secret == key_) return kNewcomer;
  const auto found = by_secret_.find(frame.secret);
  return found != by_secret_.end() ? found->second : kStranger;
}

/// Returns how many packets were delivered.
int OfiLink::received(Buffer* buffer, std::size_t bytes, PacketSink* sink) {
  const Frame frame = received_frame(*buffer);
  const int source = bytes >= sizeof frame ? source_of(frame) : kStranger;
  if (source == kStranger) {
    drop_stranger(bytes);
  } else if (source == kFormer) {  // what was on its way when that process ended
  } else if (!ofi::is_whole(frame, bytes, kBulkBytesMax) ||
             (source == kNewcomer) != (frame.kind == FrameKind::kMeet)) {
    damaged(frame, "its length or its kind cannot be right");
  } else if (source == kNewcomer) {
    take_newcomer(frame, *buffer, sink);
  } else if (source >= static_cast<int>(peers_.size()) || !is_far(source)) {
    damaged(frame, "that rank is on this node, or there is none of that number");
  } else if (frame.kind == FrameKind::kBye) {
    hear_bye(source, frame.sequence);
  } else if (frame.kind == FrameKind::kByeHeard) {
    at(source).heard_bye = true;
  } else if (frame.kind == FrameKind::kHello) {
    at(source).talked = at(source).connected = true;
    say(source, FrameKind::kWelcome);
  } else if (frame.kind == FrameKind::kWelcome) {
    at(source).connected = true;
  } else if (frame.kind == FrameKind::kWritten) {
    ofi::WrittenWords words;
    std::memcpy(&words, buffer->memory + ofi::kHeadAt, sizeof words);
    post(buffer);
    ++at(source).words_heard;
    written(static_cast<std::uint32_t>(words.word), sink);
    return 1;
  } else if (frame.kind == FrameKind::kAsk || frame.kind == FrameKind::kTell) {
    ofi::CameWords words;
    std::memcpy(&words, buffer->memory + ofi::kHeadAt, sizeof words);
    if (at(source).sent - words.packets > UINT32_MAX / 2) {
      damaged(frame, "it says that more has come than was sent");
    } else if (frame.kind == FrameKind::kAsk) {
      hear_question(source, words);
    } else {
      hear_answer(source, words, clock_.now_ns());
    }
  } else if (ofi::has_packets(frame.kind)) {
    return take_packet(source, frame, buffer, sink);
  } else {
    ++at(source).words_heard;
    hear(source, frame, *buffer);
  }
  post(buffer);
  return 0;
}

/// `number`: of the next packet, if the peer comes back. A bye that is late, since it was said again, counts
/// no more.
void OfiLink::hear_bye(int peer, std::uint32_t number) {
  Peer& from = at(peer);
  if (static_cast<std::int32_t>(number - from.received) >= 0) {
    from.said_bye = true;
    from.bye_at = number;
    from.watch.gap_ns = clock_.now_ns();
    others_moved_ = true;
    if (come_from(from) != number) say_what_has_come(peer, FrameKind::kTell, 0);
  }
  say(peer, FrameKind::kByeHeard);
}

int OfiLink::take_packet(int source, const Frame& frame, Buffer* buffer, PacketSink* sink) {
  const std::uint32_t early = frame.sequence - at(source).received;
  const std::uint32_t late = 0 - early;  // it was sent again, and both have come
  if (late - 1 < std::min(kLateMax, at(source).received) || at(source).early.contains(frame.sequence)) {
    post(buffer);
    return 0;
  }
  if (early > kEarlyMax) {
    damaged(frame, "its number is that of no packet to come");
    post(buffer);
    return 0;
  }
  if (early != 0 || sink == nullptr) {
    hold(source, buffer, frame.sequence);
    return 0;
  }
  return deliver(source, buffer, *sink) + deliver_early(source, *sink);
}

/// Keeps a packet that may not be delivered yet. Another buffer is posted instead.
void OfiLink::hold(int source, Buffer* buffer, std::uint32_t number) {
  at(source).early.emplace(number, buffer);
  if (leaving_) held_.push_back(source);
  if (Buffer* const other = fabric_->take(buffer->capacity)) post(other);
}

/// Returns how many packets that were.
int OfiLink::deliver(int source, Buffer* buffer, PacketSink& sink) {
  Peer& from = at(source);
  const Frame frame = received_frame(*buffer);
  const bool small = frame.kind == FrameKind::kSmall;
  ++from.received;
  from.talked = true;
  if (from.said_bye && static_cast<std::int32_t>(frame.sequence - from.bye_at) >= 0) from.said_bye = false;
  int packets = 1;
  if (frame.kind == FrameKind::kBundle) {
    packets = deliver_bundle(source, frame, *buffer, sink);
  } else {
    sink.packet({.source = source,
                 .bulk_bytes = small ? 0 : frame.bytes,
                 .data_bytes = small ? frame.bytes : 0,
                 .head = buffer->memory + ofi::kHeadAt,
                 .bulk = small || frame.bytes == 0 ? nullptr : buffer->memory + ofi::kBulkAt});
  }
  post(buffer);
  return packets;
}

int OfiLink::deliver_bundle(int source, const Frame& frame, const Buffer& buffer, PacketSink& sink) {
  int packets = 0;
  for (std::uint32_t position = 0; position < frame.bytes; ++packets) {
    const std::byte* const entry = buffer.memory + ofi::kHeadAt + position;
    const std::uint32_t room = frame.bytes - position;
    std::uint64_t bytes = UINT64_MAX;
    if (room >= sizeof(ofi::BundleHead)) std::memcpy(&bytes, entry, sizeof bytes);
    if (bytes > ofi::kBundledBytesMax || ofi::entry_bytes(static_cast<std::uint32_t>(bytes)) > room) {
      damaged(frame, "a packet in it ends behind its end");
      return packets;
    }
    sink.packet({.source = source,
                 .bulk_bytes = 0,
                 .data_bytes = static_cast<std::uint32_t>(bytes),
                 .head = entry + offsetof(ofi::BundleHead, head),
                 .bulk = nullptr});
    position += ofi::entry_bytes(static_cast<std::uint32_t>(bytes));
  }
  return packets;
}

/// Those that were held because one before them was missing.
int OfiLink::deliver_early(int source, PacketSink& sink) {
  Peer& from = at(source);
  int delivered = 0;
  while (!from.early.empty()) {
    const auto next = from.early.find(from.received);
    if (next == from.early.end()) break;
    Buffer* const buffer = next->second;
    from.early.erase(next);
    delivered += deliver(source, buffer, sink);
  }
  return delivered;
}

/// Those that came while leave() waited: this rank communicates again.
int OfiLink::deliver_held(PacketSink& sink) {
  int delivered = 0;
  for (const int source : held_) delivered += deliver_early(source, sink);
  held_.clear();
  for (const std::uint32_t word : std::exchange(held_words_, {})) sink.written(word);
  return delivered;
}

/// Has the next packet come into the buffer, unless there are enough: one that was held has been replaced.
void OfiLink::post(Buffer* buffer) {
  if (posted_ < kReceives && fabric_->post(buffer)) {
    ++posted_;
  } else {
    fabric_->give_back(buffer);
  }
}

void OfiLink::drop_stranger(std::size_t bytes) {
  if (strangers_++ != 0) return;
  std::fprintf(stderr,
               "tasuki: rank %d: a packet of %zu bytes came over the network that no rank of this job has "
               "sent; it was dropped, and so will others be (address %s)\n",
               rank_, bytes, ofi::text_of(rank_, card_).c_str());
}

void OfiLink::damaged(const Frame& frame, const char* what) {
  wiring_.fail("rank " + std::to_string(rank_) + ": a packet came over the network with the secret of this " +
               "job, from rank " + std::to_string(frame.source) + ", number " +
               std::to_string(frame.sequence) + " with " + std::to_string(frame.bytes) +
               " bytes, that is damaged: " + what);
}

}  // namespace tasuki
