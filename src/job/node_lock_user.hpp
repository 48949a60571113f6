// NodeLockUser: a rank as a user of the locks that the ranks of its node share (base/system/shared_lock.hpp).
// A rank's number there is that on its node.
//
// Ownership: the node and the launcher outlive it. Thread safety: any thread.
#pragma once

#include <string>

#include "base/system/shared_lock.hpp"
#include "job/launcher.hpp"
#include "node/node.hpp"

namespace tasuki {

class NodeLockUser final : public LockUser {
 public:
  NodeLockUser(const Node& node, Launcher& launcher)
      : LockUser(node.self(), node.size()), node_(node), launcher_(launcher) {}

  bool has_died(int number) const override { return node_.has_died(rank_of(number)); }

  /// The launcher, where it sees that end for itself, goes before this.
  [[noreturn]] void end_dead(int number) const override {
    end(": rank " + std::to_string(rank_of(number)) + " (process " +
        std::to_string(node_.process_id(rank_of(number))) +
        ") died while it held a lock in memory that the ranks of its node share");
  }

  [[noreturn]] void end_damaged(const char* what, std::uint32_t value) const override {
    end(std::string(": memory that the ranks of its node share is damaged: ") + what + " is " +
        std::to_string(value) + ", which none of them writes");
  }

 private:
  int rank_of(int number) const { return node_.ranks()[static_cast<std::size_t>(number)]; }

  [[noreturn]] void end(const std::string& why) const {
    launcher_.abort(1, "rank " + std::to_string(node_.rank()) + why);
    __builtin_unreachable();  // gcc does not see that a virtual function never returns
  }

  const Node& node_;
  Launcher& launcher_;
};

}  // namespace tasuki
