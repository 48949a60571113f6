// The messages of an exchange (io/two_phase/exchange.hpp): of bytes, on the file's own communicator, in a
// plane that nothing else uses there. Each ordered pair of ranks has at most one of a kind in a cycle.
//
// Thread safety: the process lock.
#pragma once

#include "base/predefined.hpp"
#include "object/objects.hpp"
#include "p2p/core_calls.hpp"

namespace tasuki {

enum class ExchangeMessage : int {
  kData,       // what a rank has in a window, packed
  kRunNumber,  // io/two_phase/oversized_views.hpp
  kRuns,       //
};

/// Starts to send `bytes` at `memory` to `peer`, or to receive them. A rank that waits for what it sent
/// has not run ahead of the receiver.
inline Request* start_message(Comm& comm, bool send, void* memory, Count bytes, int peer,
                              ExchangeMessage what, Count cycle) {
  constexpr Count kKinds = 3;
  Datatype& byte = *static_cast<Datatype*>(comm.process.objects->predefined[kMpiByte]);
  const int tag = static_cast<int>((cycle * kKinds + static_cast<Count>(what)) & kTagMax);
  return send ? start_synchronous_send(memory, bytes, byte, peer, tag, comm, Plane::kOther)
              : start_receive(memory, bytes, byte, peer, tag, comm, Plane::kOther);
}

}  // namespace tasuki
