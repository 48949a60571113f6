// OutsideWait: what a call waits for outside of its MPI_COMM_WORLD, in words, for reports on this rank
// (base/calls/call_board.hpp).
//
// It lives on the stack of the call, in a list of the process, the newest first. Thread safety: the process
// lock guards the list; with MPI_THREAD_MULTIPLE several threads wait, and stop in any order.
#pragma once

#include <string>
#include <utility>

#include "base/calls/stack_node.hpp"
#include "base/process.hpp"

namespace tasuki {

class OutsideWait : public StackNode<OutsideWait> {
 public:
  /// `words` follow "it waits for": "port X, where no process has accepted".
  OutsideWait(Process& process, std::string words)
      : StackNode(&process.outside_wait), text(std::move(words)) {}

  std::string text;
};

}  // namespace tasuki
