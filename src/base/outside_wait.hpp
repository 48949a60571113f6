// OutsideWait: what a call waits for that is no rank of its world, in words, for reports on this rank
// (base/call_board.hpp).
//
// It lives on the stack of the call, in a list of the process, the newest first. Thread safety: the process
// lock guards the list; with MPI_THREAD_MULTIPLE several threads wait, and stop in any order.
#pragma once

#include <string>
#include <utility>

#include "base/process.hpp"

namespace tasuki {

class OutsideWait {
 public:
  /// `words` follow "it waits for": "port X, where nobody has accepted".
  OutsideWait(Process& process, std::string words)
      : text(std::move(words)), next(process.outside_wait), here_(&process.outside_wait) {
    if (next != nullptr) next->here_ = &next;
    *here_ = this;
  }
  ~OutsideWait() {
    *here_ = next;
    if (next != nullptr) next->here_ = here_;
  }
  OutsideWait(const OutsideWait&) = delete;
  OutsideWait& operator=(const OutsideWait&) = delete;

  std::string text;
  OutsideWait* next;

 private:
  OutsideWait** here_;  // what points to this one
};

}  // namespace tasuki
