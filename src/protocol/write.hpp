// How each kind of packet is written straight into the link's room. Every function returns false when
// the FIFO to `peer` is full; then nothing has happened.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "link/link.hpp"
#include "protocol/packet.hpp"

namespace tasuki {

/// What a message is matched by.
struct Envelope {
  int source;  // the sender's rank in the communicator
  int tag;
  Context context;  // with the plane
};

/// Writes `header` to the room's head by value, so that the compiler stores it in registers' width.
template <class Header>
inline void put_header(const PacketRoom& room, const Header& header) {
  std::memcpy(room.head, &header, sizeof header);
}

/// The header of a short message, and as the words that it travels in.
inline ShortHeader short_header(const Envelope& envelope) {
  return {lead_word(PacketKind::kShort, envelope.source), envelope.tag, envelope.context};
}
inline HeadWords head_words(const ShortHeader& header) {
  HeadWords words;
  std::memcpy(&words, &header, sizeof words);
  return words;
}

/// A short message from dense memory. REQUIRES: bytes <= kShortBytesMax.
inline bool write_short(Link& link, int peer, const Envelope& envelope, const void* data, std::size_t bytes) {
  return link.put(peer, head_words(short_header(envelope)), data, static_cast<std::uint32_t>(bytes));
}

/// A short message of any type, through a cursor at its start.
bool write_short(Link& link, int peer, const Envelope& envelope, const void* buffer, PackCursor& cursor);

/// Where a message's bytes come from. A dense message may be lent to a link that has pieces of its own: they
/// are sent from where they lie, and stay as they are until has_left(peer).
enum class Source : std::uint8_t { kCopied, kLent };

/// The first packet of an eager message: as much of it as one bulk holds; the cursor says how much went.
bool write_eager(Link& link, int peer, const Envelope& envelope, RequestId sender, const void* buffer,
                 PackCursor& cursor, Source source = Source::kCopied);
/// The next packet of an eager message whose cursor is not at its end.
bool write_eager_more(Link& link, int peer, const void* buffer, PackCursor& cursor, Source source);

/// The packets of a long message. write_fragment sends at most up to byte `bytes_wanted` of the message.
bool write_request_to_send(Link& link, int peer, const RequestToSendHeader& header);
bool write_fragment(Link& link, int peer, RequestId receiver, const void* buffer, PackCursor& cursor,
                    Count bytes_wanted, Source source);

/// Bytes of a partitioned message from the cursor's place on, at most up to byte `end` of it; and the packet
/// that names partitions [first, end) of a message without bytes.
bool write_partition(Link& link, int peer, RequestId receiver, const void* buffer, PackCursor& cursor,
                     Count end);
/// The same, where the sender writes bytes [begin, end) of the message to the receiver's buffer: `copy` does
/// that.
template <class Copy>
bool write_partition_written(Link& link, int peer, RequestId receiver, Count begin, Count end,
                             const Copy& copy) {
  PacketRoom room;
  if (!link.reserve(peer, 0, &room)) return false;
  copy();
  put_header(room, PartitionHeader{lead_word(PacketKind::kPartition), 0, receiver,
                                   static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)});
  link.commit(peer, room);
  return true;
}
bool write_partition_names(Link& link, int peer, RequestId receiver, int first, int end, int of);

/// Tells the receiver that a message is being written to the receive that it had advertised.
bool write_writing(Link& link, int peer, const WritingHeader& header);

/// A clear-to-send, an acknowledgement, or another packet of that size, made ready by its caller.
bool write_answer(Link& link, int peer, const AnswerHeader& answer);

}  // namespace tasuki
