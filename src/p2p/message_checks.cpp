// The checks of messages: see p2p/message_checks.hpp. Those of partitioned ones are in p2p/partitioned/.
#include "p2p/message_checks.hpp"

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "datatype/type_hash.hpp"
#include "p2p/message_requests.hpp"
#include "p2p/point_to_point.hpp"
#include "protocol/write.hpp"

namespace tasuki {
namespace {

/// What travels behind the head of a kSignature packet. `context` of the head is the hash.
struct SealBody {
  std::uint64_t elements;
  std::uint16_t only;
  std::uint8_t packed;
  std::uint8_t ready;
  char call[sizeof MessageSeal{}.call];
};
static_assert(sizeof(SealBody) == 40);

std::string number_text(const char* name, int value, int any, const char* any_text) {
  return std::string(name) + " = " + (value == any ? any_text : std::to_string(value));
}

/// "MPI_Irecv (source = 3, tag = MPI_ANY_TAG)".
std::string text_of(const SendRequest& send) {
  return std::string(send.note->call) + " (" + number_text("dest", send.dest, kProcNull, "MPI_PROC_NULL") +
         ", tag = " + std::to_string(send.envelope.tag) + ")";
}
std::string text_of(const ReceiveRequest& receive) {
  return std::string(receive.note->call) + " (" +
         number_text("source", receive.source, kAnySource, "MPI_ANY_SOURCE") + ", " +
         number_text("tag", receive.tag, kAnyTag, "MPI_ANY_TAG") + ")";
}

Area area_of(const SendRequest& send) {
  return {send.buffer, send.count, send.datatype.get()};
}
Area area_of(const ReceiveRequest& receive) {
  return {receive.buffer, receive.cursor.count(), receive.datatype.get()};
}

/// "10 x MPI_INT".
std::string elements_text(std::uint64_t elements, std::uint64_t hash, std::uint16_t only) {
  return std::to_string(elements) + " x " + basic_types_text(hash, only);
}

}  // namespace

// ----- calls -----------------------------------------------------------------------------------------------

Code MessageChecks::before_send(const void* buffer, Count count, Datatype& datatype, const char* name) {
  return checks_.check_send_buffer({buffer, count, &datatype}, name);
}

Code MessageChecks::before_receive(void* buffer, Count count, Datatype& datatype, const char* name) {
  return checks_.check_receive_buffer({buffer, count, &datatype}, name);
}

Code MessageChecks::before_exchange(const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                                    Count recvcount, Datatype& recvtype) {
  const Area out(sendbuf, sendcount, &sendtype), in(recvbuf, recvcount, &recvtype);
  if (Code code = checks_.check_apart(out, "sendbuf", in, "recvbuf")) return code;
  if (Code code = checks_.check_send_buffer(out, "sendbuf")) return code;
  return checks_.check_receive_buffer(in, "recvbuf");
}

void MessageChecks::began(SendRequest& send) {
  if (!checks_.keeps_buffers() || send.dest == kProcNull) return;
  send.has_pending_buffers = true;
  checks_.begin(&send, text_of(send), {{area_of(send), false}});
}

void MessageChecks::began(ReceiveRequest& receive) {
  if (!checks_.keeps_buffers() || receive.source == kProcNull) return;
  receive.has_pending_buffers = true;
  checks_.begin(&receive, text_of(receive), {{area_of(receive), true}});
}

void MessageChecks::began_exchange(Request& pair, SendRequest& send, ReceiveRequest& receive) {
  if (!checks_.keeps_buffers()) return;
  std::vector<BufferUse> uses;
  if (send.dest != kProcNull) uses.push_back({area_of(send), false});
  if (receive.source != kProcNull) uses.push_back({area_of(receive), true});
  pair.has_pending_buffers = true;
  checks_.begin(&pair, text_of(send), std::move(uses));
}

// ----- the sender ------------------------------------------------------------------------------------------

std::unique_ptr<MessageNote> MessageChecks::note_send(Count count, const Datatype& datatype, SendMode mode) {
  const Count elements = next_type_ != nullptr ? std::exchange(next_count_, 0) : count;
  const Datatype& type = next_type_ != nullptr ? *std::exchange(next_type_, nullptr) : datatype;
  auto note = std::make_unique<MessageNote>();
  note->call = checks_.call();
  if (!checks_.compares()) return note;
  const BasicTypes types = basic_types(*type.signature, elements);
  note->seal.elements = static_cast<std::uint64_t>(type.signature->elements * elements);
  note->seal.hash = types.hash.hash;
  note->seal.only = types.mixed ? 0 : types.only;
  note->seal.packed = types.packed;
  note->seal.ready = mode == SendMode::kReady;
  std::snprintf(note->seal.call, sizeof note->seal.call, "%s", note->call);
  return note;
}

bool MessageChecks::push_seal(SendRequest& send) {
  MessageNote& note = *send.note;
  if (note.sealed || !checks_.compares()) return true;
  const MessageSeal& seal = note.seal;
  const ShortHeader head{lead_word(PacketKind::kSignature), 0, seal.hash};
  SealBody body{seal.elements, seal.only, seal.packed, seal.ready, {}};
  std::memcpy(body.call, seal.call, sizeof body.call);
  note.sealed = p2p_.link->put(send.endpoint, head_words(head), &body, sizeof body);
  return note.sealed;
}

// ----- the receiver ----------------------------------------------------------------------------------------

std::unique_ptr<MessageNote> MessageChecks::note_receive() {
  auto note = std::make_unique<MessageNote>();
  note->call = checks_.call();
  return note;
}

void MessageChecks::seal_arrived(const Packet& packet) {
  if (packet.data_bytes != sizeof(SealBody)) p2p_.damaged(packet, "a type signature of a wrong size");
  const ShortHeader& head = header_of<ShortHeader>(packet);
  SealBody body;
  std::memcpy(&body, packet.head + sizeof head, sizeof body);
  if (static_cast<Count>(body.elements) < 0 || (body.only != 0 && basic_info(body.only) == nullptr))
    p2p_.damaged(packet, "a type signature of no known type");
  const auto endpoint = static_cast<std::size_t>(packet.source);
  if (endpoint >= arrived_.size()) arrived_.resize(endpoint + 1);
  auto seal = std::make_unique<MessageSeal>();
  seal->elements = body.elements;
  seal->hash = head.context;
  seal->only = body.only;
  seal->packed = body.packed != 0;
  seal->ready = body.ready != 0;
  std::memcpy(seal->call, body.call, sizeof seal->call - 1);
  arrived_[endpoint] = std::move(seal);
}

std::unique_ptr<MessageSeal> MessageChecks::take_seal(int endpoint, Context context) {
  constexpr Context kPlanes = 3;
  const auto index = static_cast<std::size_t>(endpoint);
  if ((context & kPlanes) != static_cast<Context>(Plane::kPointToPoint) || index >= arrived_.size())
    return {};
  return std::move(arrived_[index]);
}

void MessageChecks::arm(ReceiveRequest& receive) {
  MessageNote& note = *receive.note;
  note.armed = checks_.keeps_buffers();
  if (note.armed) note.checksum = checksum_of(area_of(receive));
}

void MessageChecks::met(ReceiveRequest& receive, const MessageSeal* seal) {
  MessageNote& note = *receive.note;
  Process& process = receive.comm->process;
  const Status& status = receive.status;
  if (std::exchange(note.armed, false) && status.error == kSuccess &&
      checksum_of(area_of(receive)) != note.checksum) {
    receive.status.error =
        process.fail(kErrBuffer,
                     "the buffer of %s was written by the program before its message came, expected it to be "
                     "left alone until the request is completed",
                     text_of(receive).c_str());
  }
  if (seal == nullptr || status.error != kSuccess) return;
  if (seal->ready && seal->early) {
    receive.status.error = process.fail(
        kErrOther,
        "message from rank %d, tag %d, sent by %s, came before its receive, expected the receive "
        "to be posted first: that is what the ready mode asks for",
        status.source, status.tag, seal->call);
    return;
  }
  const Signature& signature = *receive.datatype->signature;
  const Count room = signature.elements * receive.cursor.count();
  const auto elements = static_cast<Count>(seal->elements);
  const BasicTypes wanted = first_basic_types(signature, receive.cursor.count(), elements);
  if (seal->packed || wanted.packed || elements == 0) return;
  if (elements <= room && wanted.hash.hash == seal->hash) return;
  const BasicTypes all = basic_types(signature, receive.cursor.count());
  receive.status.error = process.fail(
      kErrType,
      "message from rank %d, tag %d: sent as %s by %s, received as %s by %s, expected the same basic types",
      status.source, status.tag, elements_text(seal->elements, seal->hash, seal->only).c_str(), seal->call,
      elements_text(static_cast<std::uint64_t>(room), all.hash.hash, all.mixed ? std::uint16_t{0} : all.only)
          .c_str(),
      note.call);
}

}  // namespace tasuki
