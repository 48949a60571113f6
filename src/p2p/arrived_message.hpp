// Message: one that has arrived, with its data or only its envelope, and that no receive has taken yet. It
// stands in the matching queue until a receive or a matched probe takes it; a matched probe gives it to the
// user as an MPI_Message (MPI 3.8.2).
//
// Messages come from a pool of their Process, made by PointToPoint; only MPI_MESSAGE_NO_PROC does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "base/types.hpp"
#include "object/comm.hpp"
#include "object/object.hpp"
#include "p2p/matching.hpp"
#include "p2p/message_checks.hpp"

namespace tasuki {

struct Objects;
struct PointToPoint;

struct Message : Object, ArrivedMessage {
  Message() : Object(Kind::kMessage) {}
  static void operator delete(Message* message, std::destroying_delete_t);  // back to its pool

  static constexpr std::size_t kInlineBytes = 64;

  std::byte* data() { return heap ? heap.get() : small; }
  Status envelope() const { return {.source = source, .tag = tag, .bytes = bytes}; }

  PointToPoint* pool = nullptr;  // whose it is; null for MPI_MESSAGE_NO_PROC
  Ref<Comm> comm;                // set when a matched probe takes it
  int endpoint = 0;              // where it came from
  bool is_long = false;          // only the envelope is here, and in `small` a LongMessage, or the offer of a
                                 // partitioned message: no bytes are kept
  bool synchronous = false;      // eager, and the sender wants to know when it is matched
  std::uint64_t sender = 0;      // the send request's id, of a long or synchronous message; else 0
  Count bytes = 0;               // of the whole message
  Count arrived_bytes = 0;       // of an eager one: how many are in data()
  std::unique_ptr<std::byte[]> heap;
  std::unique_ptr<MessageSeal> seal;  // with TASUKI_CHECK
  alignas(16) std::byte small[kInlineBytes];
};

/// Makes MPI_MESSAGE_NO_PROC.
void make_predefined_message(Objects& objects);

}  // namespace tasuki
