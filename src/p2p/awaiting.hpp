// Awaiting: the requests that a call waits for, while it does, for reports on this rank
// (base/call_board.hpp).
//
// It lives on the stack of the call, in a list of the process, the newest first. Thread safety: the process
// lock guards the list; with MPI_THREAD_MULTIPLE several threads wait, and stop in any order.
#pragma once

#include "base/call_board.hpp"
#include "base/types.hpp"

namespace tasuki {

struct Request;

class Awaiting {
 public:
  /// The first `its_count` of `its_requests` stay where they are as long as this; null and inactive ones are
  /// not waited for.
  Awaiting(Awaiting** list, Request* const* its_requests, Count its_count, Awaits its_how)
      : requests(its_requests), count(its_count), how(its_how), next(*list), here_(list) {
    if (next != nullptr) next->here_ = &next;
    *here_ = this;
  }
  ~Awaiting() {
    *here_ = next;
    if (next != nullptr) next->here_ = here_;
  }
  Awaiting(const Awaiting&) = delete;
  Awaiting& operator=(const Awaiting&) = delete;

  Request* const* const requests;
  const Count count;
  const Awaits how;
  Awaiting* next;

 private:
  Awaiting** here_;  // what points to this one
};

}  // namespace tasuki
