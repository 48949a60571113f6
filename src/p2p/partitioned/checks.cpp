// The checks of partitioned messages: see p2p/message_checks.hpp.
#include "datatype/type_hash.hpp"
#include "p2p/message_checks.hpp"
#include "p2p/partitioned/partitioned.hpp"

namespace tasuki {

void MessageChecks::seal_offer(const PartitionedSend& send, OfferHeader* offer) const {
  if (!checks_.compares()) return;
  const BasicTypes types = basic_types(*send.datatype->signature, send.cursor.count());
  if (types.packed || send.cursor.total_bytes() == 0) return;
  offer->types = types.hash.hash;
  offer->basic = types.mixed ? 0 : types.only;
}

Code MessageChecks::compare_offer(const PartitionedReceive& receive, const OfferHeader& offer) const {
  const BasicTypes types = basic_types(*receive.datatype->signature, receive.cursor.count());
  const bool same_bytes = offer.bytes == static_cast<std::uint64_t>(receive.cursor.total_bytes());
  if (!checks_.compares() || offer.types == 0 || types.packed || !same_bytes) return kSuccess;
  if (types.hash.hash == offer.types) return kSuccess;
  return receive.comm->process.fail(
      kErrType,
      "partitioned message from rank %d, tag %d: sent as %s, received as %s, expected the same basic types",
      receive.peer, receive.tag,
      basic_types_text(offer.types, static_cast<std::uint16_t>(offer.basic)).c_str(),
      basic_types_text(types.hash.hash, types.mixed ? std::uint16_t{0} : types.only).c_str());
}

void MessageChecks::began(PartitionedSend& send) {
  if (!checks_.keeps_buffers() || send.peer == kProcNull) return;
  send.has_pending_buffers = true;
  checks_.begin(&send, "MPI_Pready (dest = " + std::to_string(send.peer) + ")", {});
}

void MessageChecks::ready(PartitionedSend& send, int first, int end) {
  if (!send.has_pending_buffers) return;
  const Count elements = send.cursor.count() / send.partitions;
  const Count offset = first * elements * send.datatype->extent;
  const auto at = reinterpret_cast<std::intptr_t>(send.buffer) + offset;
  checks_.add(&send, {{reinterpret_cast<void*>(at), (end - first) * elements, send.datatype.get()}, false});
}

}  // namespace tasuki
