// LargeMessages: messages out of private memory, which the system reads for the receiver.
#include <algorithm>
#include <array>

#include "node/node.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"

namespace tasuki {
namespace {

/// Of one call; the system takes up to 1,024.
constexpr std::size_t kRunsMax = 256;

bool is_coarse(const Placement& placement, const ProtocolTable& table) {
  return placement.dense() || placement.block_bytes >= table.attach_block_bytes_min;
}

}  // namespace

/// Whether the system can copy from where `message` lies to `here` in pieces that are worth it.
bool LargeMessages::is_attachable(const LongMessage& message, const Placement& here, Count bytes) const {
  return message.kind == SourceKind::kPrivate && message.source.exists() && message.source.is_sound() &&
         message.source.span(bytes) != 0 && here.exists() && is_coarse(message.source, p2p_.table) &&
         is_coarse(here, p2p_.table);
}

bool LargeMessages::may_attach(int endpoint) {
  CrossMemory& process = peer(endpoint).process;
  return process.is_allowed() || process.probe(p2p_.process.node.process_of(endpoint));
}

bool LargeMessages::carry_attached(LargeEnd& end, Count budget) {
  std::array<iovec, kRunsMax> here, there;
  const Count to = end.copied + std::min(end.bytes - end.copied, budget);
  while (end.copied < to) {
    const Count bytes = std::min({to - end.copied, bytes_in_runs(end.here, end.copied, kRunsMax),
                                  bytes_in_runs(end.there, end.copied, kRunsMax)});
    const Count until = end.copied + bytes;
    const std::size_t here_count = list_runs(end.here, end.copied, until, here.data());
    const std::size_t there_count = list_runs(end.there, end.copied, until, there.data());
    if (!peer(end.endpoint)
             .process.read(here.data(), here_count, there.data(), there_count,
                           static_cast<std::size_t>(bytes))) {
      end.failed = true;
      return true;
    }
    end.copied = until;
  }
  return to == end.bytes;
}

/// The system could not read the message, or not all of it: it goes through the ring, all of it, for its
/// sender has not been told anything yet.
void LargeMessages::fall_back(LargeEnd& end) {
  ReceiveRequest& receive = *end.receive;
  p2p_.count_received(Way::kTwoCopy, end.message_bytes, end.endpoint, why_text(Why::kForbidden),
                      end.message_first);
  receive.large = nullptr;
  receive.streaming = true;
  p2p_.answer(end.endpoint, AnswerHeader{.lead = lead_word(PacketKind::kClearToSend),
                                         .sender = end.other,
                                         .receiver = p2p_.receives.id(&receive),
                                         .bytes_wanted = static_cast<std::uint64_t>(end.bytes)});
  ends_.destroy(&end);
}

}  // namespace tasuki
