// RankWait: ranks of which one has to act before a call goes on, where no request says it: those that keep a
// file's pointer or hold a range of it. For reports on this rank (base/calls/call_board.hpp).
//
// It lives on the stack of the call, in a list of the process, the newest first. Thread safety: the process
// lock guards the list; with MPI_THREAD_MULTIPLE several threads wait, and stop in any order.
#pragma once

#include <utility>
#include <vector>

#include "base/calls/stack_node.hpp"
#include "base/process.hpp"

namespace tasuki {

class RankWait : public StackNode<RankWait> {
 public:
  RankWait(Process& process, std::vector<int> any_of)
      : StackNode(&process.rank_wait), endpoints(std::move(any_of)) {}

  const std::vector<int> endpoints;
};

}  // namespace tasuki
