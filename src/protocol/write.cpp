// Writing packets: everything but the dense short message, which is inlined into the send.
#include "protocol/write.hpp"

#include <array>

#include "protocol/choose.hpp"

namespace tasuki {

namespace {

/// The next piece of a message of `total` bytes, of which `left` are to go.
std::uint32_t bulk_bytes_for(const Link& link, int peer, Count total, Count left) {
  const Count piece = link.piece_bytes(peer);
  return static_cast<std::uint32_t>(
      std::min<Count>(left, piece != 0 ? piece : std::min<Count>(piece_bytes(total), link.bulk_bytes_max())));
}

/// The link only reads a bulk that is committed.
void pack_bulk(PacketRoom* room, const void* buffer, PackCursor& cursor, std::uint32_t bytes,
               Source source = Source::kCopied) {
  if (bytes == 0) return;
  if (source == Source::kCopied) {
    cursor.pack(buffer, room->bulk, bytes);
    return;
  }
  room->bulk = static_cast<std::byte*>(const_cast<void*>(buffer)) + cursor.position();
  cursor.seek(cursor.position() + bytes);
}

/// A packet that is all header.
template <class Header>
bool write_head(Link& link, int peer, const Header& header) {
  PacketRoom room;
  if (!link.reserve(peer, 0, &room)) return false;
  put_header(room, header);
  link.commit(peer, room);
  return true;
}

}  // namespace

bool write_short(Link& link, int peer, const Envelope& envelope, const void* buffer, PackCursor& cursor) {
  std::array<std::byte, kShortBytesMax> packed;
  const auto bytes = static_cast<std::size_t>(cursor.total_bytes());
  cursor.pack(buffer, packed.data(), bytes);
  if (write_short(link, peer, envelope, packed.data(), bytes)) return true;
  cursor.seek(0);
  return false;
}

bool write_eager(Link& link, int peer, const Envelope& envelope, RequestId sender, const void* buffer,
                 PackCursor& cursor, Source source) {
  PacketRoom room;
  const Count total = cursor.total_bytes();
  const std::uint32_t bytes = bulk_bytes_for(link, peer, total, total);
  if (!link.reserve(peer, bytes, &room)) return false;
  put_header(room, EnvelopeHeader{lead_word(PacketKind::kEager, envelope.source), envelope.tag,
                                  envelope.context, static_cast<std::uint64_t>(total), sender});
  pack_bulk(&room, buffer, cursor, bytes, source);
  link.commit(peer, room);
  return true;
}

bool write_eager_more(Link& link, int peer, const void* buffer, PackCursor& cursor, Source source) {
  PacketRoom room;
  const Count position = cursor.position();
  const std::uint32_t bytes =
      bulk_bytes_for(link, peer, cursor.total_bytes(), cursor.total_bytes() - position);
  if (!link.reserve(peer, bytes, &room)) return false;
  put_header(room,
             EagerMoreHeader{lead_word(PacketKind::kEagerMore), 0, static_cast<std::uint64_t>(position)});
  pack_bulk(&room, buffer, cursor, bytes, source);
  link.commit(peer, room);
  return true;
}

bool write_request_to_send(Link& link, int peer, const RequestToSendHeader& header) {
  return write_head(link, peer, header);
}

bool write_writing(Link& link, int peer, const WritingHeader& header) {
  return write_head(link, peer, header);
}

bool write_fragment(Link& link, int peer, RequestId receiver, const void* buffer, PackCursor& cursor,
                    Count bytes_wanted, Source source) {
  PacketRoom room;
  const Count position = cursor.position();
  const std::uint32_t bytes = bulk_bytes_for(link, peer, bytes_wanted, bytes_wanted - position);
  if (!link.reserve(peer, bytes, &room)) return false;
  put_header(room, FragmentHeader{lead_word(PacketKind::kFragment), 0, receiver,
                                  static_cast<std::uint64_t>(position)});
  pack_bulk(&room, buffer, cursor, bytes, source);
  link.commit(peer, room);
  return true;
}

bool write_partition(Link& link, int peer, RequestId receiver, const void* buffer, PackCursor& cursor,
                     Count end) {
  PacketRoom room;
  const Count position = cursor.position();
  const std::uint32_t bytes = bulk_bytes_for(link, peer, end - position, end - position);
  if (!link.reserve(peer, bytes, &room)) return false;
  put_header(room, PartitionHeader{lead_word(PacketKind::kPartition), 0, receiver,
                                   static_cast<std::uint64_t>(position), 0});
  pack_bulk(&room, buffer, cursor, bytes);
  link.commit(peer, room);
  return true;
}

bool write_partition_names(Link& link, int peer, RequestId receiver, int first, int end, int of) {
  PacketRoom room;
  if (!link.reserve(peer, 0, &room)) return false;
  put_header(room,
             PartitionHeader{lead_word(PacketKind::kPartition), static_cast<std::uint32_t>(of), receiver,
                             static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(end)});
  link.commit(peer, room);
  return true;
}

bool write_answer(Link& link, int peer, const AnswerHeader& answer) {
  return write_head(link, peer, answer);
}

}  // namespace tasuki
