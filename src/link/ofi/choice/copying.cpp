// Which way copies go, and why.
#include "link/ofi/choice/copying.hpp"

#include <algorithm>
#include <iterator>

namespace tasuki::ofi {
namespace {

// Providers that move bytes by the system's sockets. Their copies spare the receiver one of its own, and long
// messages gain by that. In parts, since what else goes to that peer waits behind one (docs/fabric.md).
constexpr const char* kOverSockets[] = {"tcp", "net", "udp", "sockets"};
constexpr std::uint64_t kSocketBytesMin = 256 << 10, kSocketBytesMax = 4 << 20;
constexpr std::uint64_t kBytesMin = 64 << 10;
constexpr std::uint64_t kPinnedBytesMin = 1 << 20;
constexpr std::size_t kWordBytes = sizeof(std::uint32_t);

bool is_over_sockets(const std::string& provider) {
  return std::any_of(std::begin(kOverSockets), std::end(kOverSockets),
                     [&](const char* name) { return provider.find(name) != std::string::npos; });
}

Tell best_tell(const CopyFacts& facts) {
  if (facts.data_bytes >= kWordBytes) return Tell::kData;
  return facts.write_then_send ? Tell::kOrder : Tell::kDelivery;
}

}  // namespace

bool plan_copies(const CopyFacts& facts, const CopyWish& wish, CopyPlan* plan, std::string* error) {
  *plan = {};
  if (!facts.copies) return true;
  const Tell tell = wish.tell != Tell::kBest ? wish.tell : best_tell(facts);
  if (tell == Tell::kData && facts.data_bytes < kWordBytes) {
    *error = "TASUKI_NET_TELL=data: a write of libfabric's " + facts.provider + " brings " +
             std::to_string(facts.data_bytes) + " bytes of data, expected at least 4";
    return false;
  }
  if (tell == Tell::kOrder && !facts.write_then_send) {
    *error = "TASUKI_NET_TELL=order: libfabric's " + facts.provider +
             " does not promise here that a packet sent after a write arrives after it (FI_ORDER_SAW)";
    return false;
  }
  const Naming naming =
      wish.naming != Naming::kBest ? wish.naming : (facts.pins ? Naming::kEach : Naming::kHeap);
  *plan = {.copies = true,
           .tell = tell,
           .naming = naming,
           .bytes_min = wish.bytes_min,
           .bytes_max = facts.bytes_max,
           .register_bytes_min = naming == Naming::kEach && wish.bytes_min == 0 ? kPinnedBytesMin : 0};
  if (naming == Naming::kNone) plan->register_bytes_min = UINT64_MAX;
  const bool over_sockets = is_over_sockets(facts.provider);
  plan->long_only = over_sockets && wish.bytes_min == 0;
  if (wish.bytes_min == 0) plan->bytes_min = over_sockets ? kSocketBytesMin : kBytesMin;
  if (over_sockets) plan->bytes_max = std::min(plan->bytes_max, kSocketBytesMax);
  if (wish.bytes_max != 0) plan->bytes_max = std::min(plan->bytes_max, wish.bytes_max);
  return true;
}

std::string text_of(const CopyPlan& plan) {
  if (!plan.copies) return "it puts into and gets from no memory";
  static constexpr const char* kTells[] = {"", "data that comes with it", "a packet right after it",
                                           "a packet once it is confirmed"};
  static constexpr const char* kNamings[] = {"", "the symmetric heap is registered once",
                                             "memory is registered piece by piece",
                                             "no memory of messages is registered"};
  return std::string("a put is told of by ") + kTells[static_cast<int>(plan.tell)] + ", and " +
         kNamings[static_cast<int>(plan.naming)];
}

std::string text_of(const CopyFacts& facts) {
  if (!facts.copies) return "It sends and receives, and puts into and gets from no memory.";
  std::string text =
      "A write brings " + std::to_string(facts.data_bytes) + " bytes of data; what is sent after a write ";
  text += facts.write_then_send ? "arrives after it" : "may arrive before it";
  text += !facts.atomics      ? "; it has no atomics"
          : facts.keeps_order ? "; it says that it has atomics"
                              : "; it has atomics, and keeps that order no more once they are asked for";
  return text +
         (facts.pins ? "; registering memory pins pages." : "; registering memory is a line in a table.");
}

std::string ways_text(const CopyPlan& plan, const CopyWish& wish) {
  if (!plan.copies) return "All messages go in packets.";
  return "Messages from " + std::to_string(plan.bytes_min) +
         " bytes on that wait for their receives go straight between "
         "their buffers, " +
         (wish.bytes_min != 0 ? "as TASUKI_NET_COPY_BYTES_MIN asks"
          : plan.long_only    ? "since that spares the receiver a copy"
                              : "since it moves bytes by itself") +
         "; shorter ones" +
         (plan.long_only ? ", and puts and gets of windows unless TASUKI_NET_COPY_BYTES_MIN is set," : "") +
         " go in packets: " + text_of(plan) + ".";
}

}  // namespace tasuki::ofi
