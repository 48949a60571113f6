// LargeMessages between nodes: get and put by the network, between dense buffers that keys name. Where a
// buffer is not dense, or cannot be named, or packets are faster, fragments go.
//
// The receiver gets where the request to send names the source. Else it names its own buffer in the answer,
// and the sender puts, or, when it cannot, sends fragments there.
#include <algorithm>

#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"

namespace tasuki {

bool LargeMessages::may_copy(int endpoint, Count bytes) const {
  const Link& link = *p2p_.link;
  const auto size = static_cast<std::uint64_t>(bytes);
  return bytes > 0 && !is_local(endpoint) && link.can_put(endpoint) &&
         size >= link.copy_bytes_min(endpoint) && link.may_register(endpoint, size);
}

/// Has the other end name the buffer by a key. Returns false when that cannot be.
bool LargeMessages::name_own(LargeEnd& end, Count bytes) {
  if (end.own.word != 0) return true;
  if (!end.here.exists() || !end.here.dense()) return false;
  auto* const base = reinterpret_cast<void*>(end.here.address);
  return p2p_.link->register_memory(end.endpoint, base, static_cast<std::size_t>(bytes), &end.own);
}

void LargeMessages::unname(LargeEnd& end) {
  if (end.own.word != 0) p2p_.link->unregister_memory(end.endpoint, end.own);
}

bool LargeMessages::put_by_network(LargeEnd& end, const AnswerHeader& header) {
  const MemoryKey there{header.address, header.bytes_wanted, static_cast<std::uint64_t>(header.stride)};
  end.by_network = true;
  if (!end.here.exists() || !end.here.dense() ||
      !p2p_.link->put_memory(end.endpoint, there, 0, reinterpret_cast<const void*>(end.here.address),
                             header.bytes_wanted, &end.network_done))
    return false;
  end.bytes = static_cast<Count>(header.bytes_wanted);
  end.other = header.receiver;
  p2p_.count_sent(Way::kPut, end.send->cursor.total_bytes(), end.endpoint, kReceiverChose);
  begin(end, end.bytes);
  return true;
}

bool LargeMessages::get_by_network(LargeEnd& end, const LongMessage& message) {
  const MemoryKey there{message.source.address, static_cast<std::uint64_t>(end.bytes),
                        static_cast<std::uint64_t>(message.source.stride)};
  end.by_network = true;
  return p2p_.link->get_memory(end.endpoint, there, 0, reinterpret_cast<void*>(end.here.address),
                               static_cast<std::size_t>(end.bytes), &end.network_done);
}

void LargeMessages::matched_far(ReceiveRequest& receive, const LongMessage& message, Count bytes,
                                bool message_first) {
  const Count wanted = receive.bytes_wanted;
  LargeEnd& end = *ends_.make();
  receive.large = &end;
  end.receive = &receive;
  end.endpoint = receive.endpoint;
  if (wanted != 0) end.here = receive.strided_buffer();
  end.bytes = wanted;
  end.other = message.sender;
  const LongFacts facts{.bytes = wanted,
                        .far = true,
                        .source_symmetric = message.kind == SourceKind::kNamed,
                        .destination_dense = end.here.exists() && end.here.dense(),
                        .network_copies = may_copy(receive.endpoint, wanted)};
  Choice choice = choose_long(facts, p2p_.table);
  if ((choice.way == Way::kGet && !get_by_network(end, message)) ||
      (choice.way == Way::kPut && !name_own(end, wanted)))
    choice = {Way::kTwoCopy, Why::kFar};
  p2p_.count_received(choice.way, bytes, receive.endpoint, why_text(choice.why), message_first);
  if (choice.way == Way::kGet) return begin(end, wanted);

  AnswerHeader answer{.lead = lead_word(PacketKind::kClearToSend),
                      .sender = message.sender,
                      .receiver = p2p_.receives.id(&receive),
                      .bytes_wanted = static_cast<std::uint64_t>(wanted),
                      .address = end.own.word,
                      .stride = static_cast<std::int64_t>(end.own.access)};
  receive.streaming = wanted != 0;
  receive.put_to = choice.way == Way::kPut;
  if (choice.way == Way::kTwoCopy) forget(receive);
  p2p_.answer(receive.endpoint, answer);
  if (wanted == 0) p2p_.complete(receive);
}

}  // namespace tasuki
