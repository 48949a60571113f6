// Awaiting: the requests that a call waits for at present; reports on this rank name them
// (base/calls/call_board.hpp). A call names them by an array, or by what they have in common: all requests of
// this rank that belong to a buffer, a communicator, or simply are sends.
//
// It lives on the stack of the call, in a list of the process, the newest first. Thread safety: the process
// lock guards the list; with MPI_THREAD_MULTIPLE several threads wait, and stop in any order.
#pragma once

#include "base/calls/call_board.hpp"
#include "base/calls/stack_node.hpp"
#include "base/types.hpp"

namespace tasuki {

struct Request;

class Awaiting : public StackNode<Awaiting> {
 public:
  /// The first `its_count` of `its_requests` stay where they are as long as this; null and inactive ones are
  /// not waited for.
  Awaiting(Awaiting** list, Request* const* its_requests, Count its_count, Awaits its_how)
      : StackNode(list), requests(its_requests), count(its_count), how(its_how) {}

  /// All open requests for which `belongs(request, owner)` holds.
  using Belongs = bool (*)(const Request& request, const void* owner);
  Awaiting(Awaiting** list, Belongs belongs, const void* owner, Awaits its_how = Awaits::kAll)
      : StackNode(list), requests(nullptr), count(0), how(its_how), belongs_(belongs), owner_(owner) {}

  /// Whether it is one of those that have something in common.
  bool selects(const Request& request) const { return belongs_ != nullptr && belongs_(request, owner_); }

  Request* const* const requests;
  const Count count;
  const Awaits how;

 private:
  const Belongs belongs_ = nullptr;
  const void* const owner_ = nullptr;
};

}  // namespace tasuki
