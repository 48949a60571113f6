// How a provider copies memory that keys name: pure functions of what it says of itself (fi_info).
//
// A put is to be told to its target when its bytes are there. *Telling* by data: the write brings 32 bits,
// which libfabric delivers behind the bytes. By order: a packet follows at once, where the provider promises
// that what is sent after a write arrives after it. By delivery: a packet follows when the provider has
// confirmed that the bytes are there, one round trip later; that is right everywhere.
//
// *Naming* memory, so that others may reach it, is registering it. Where that is a line in a table, the
// symmetric heap is registered once and other memory by each message. Where it pins pages, the heap cannot be
// pinned (it is as large as the machine's memory, and gives pages back): only long messages are worth it, and
// theirs is registered for their time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tasuki::ofi {

/// The order is that of TASUKI_NET_TELL.
enum class Tell : std::uint8_t { kBest, kData, kOrder, kDelivery };

/// The order is that of TASUKI_NET_REGISTER.
enum class Naming : std::uint8_t { kBest, kHeap, kEach, kNone };

/// What a provider says of itself.
struct CopyFacts {
  std::string provider;
  bool copies = false;           // FI_RMA
  bool write_then_send = false;  // FI_ORDER_SAW: what is sent after a write arrives after it
  bool pins = false;             // FI_MR_ALLOCATED: registering takes hold of pages
  std::size_t data_bytes = 0;    // that a write may bring
  std::uint64_t bytes_max = 0;   // of one put or get
  bool atomics = false;          // it says that it has atomic operations, where they are asked for
  bool keeps_order = true;       // then it promises no less of the order
};

/// What the user wants; 0 and kBest: it is chosen.
struct CopyWish {
  std::uint64_t bytes_min = 0;
  std::uint64_t bytes_max = 0;
  Naming naming = Naming::kBest;
  Tell tell = Tell::kBest;
  bool atomics = false;
};

struct CopyPlan {
  bool copies = false;
  Tell tell = Tell::kDelivery;
  Naming naming = Naming::kNone;
  std::uint64_t bytes_min = 0;           // from which on a message goes so
  bool long_only = false;                // nothing else does: no window's accesses, no advertised receives
  std::uint64_t bytes_max = 0;           // of one put or get
  std::uint64_t register_bytes_min = 0;  // from which on a message's memory is registered
};

/// Returns false and one line in `error` where the user wants what the provider does not promise.
bool plan_copies(const CopyFacts& facts, const CopyWish& wish, CopyPlan* plan, std::string* error);

/// "a put is told of by data that comes with it, and the symmetric heap is registered once": for people.
std::string text_of(const CopyPlan& plan);

/// What a provider promises, and which way messages between hosts then go, and why: sentences, for people.
std::string text_of(const CopyFacts& facts);
std::string ways_text(const CopyPlan& plan, const CopyWish& wish);

}  // namespace tasuki::ofi
