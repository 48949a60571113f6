// NodeLockUser: a rank as a user of the locks that the ranks of its node share (base/system/shared_lock.hpp).
// A rank's number there is that on its node.
//
// Ownership: the node and the launcher outlive it. Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/system/shared_lock.hpp"
#include "job/launcher.hpp"
#include "node/node.hpp"

namespace tasuki {

class NodeLockUser final : public LockUser {
 public:
  NodeLockUser(Node& node, Launcher& launcher)
      : LockUser(node.self(), node.size()), node_(node), launcher_(launcher), board_(node.call_board()) {}

  /// A rank that waits for a lock asks this again and again. It does nothing else meanwhile, so the doctor's
  /// question is answered here.
  bool has_died(int number) const override;

  /// The launcher, where it sees that end for itself, goes before this.
  [[noreturn]] void end_dead(int number) const override;
  [[noreturn]] void end_damaged(const char* what, std::uint32_t value) const override;

 private:
  int rank_of(int number) const { return node_.ranks()[static_cast<std::size_t>(number)]; }
  /// Reports that this rank waits for a lock that rank `holder` holds, if the doctor has asked.
  void answer_doctor(int holder) const;
  [[noreturn]] void end(const std::string& why) const;

  const Node& node_;
  Launcher& launcher_;
  CallBoard& board_;
  mutable std::atomic<std::uint64_t> waiting_word_ = 0;     // CallLine::word of the call that waits
  mutable std::atomic<std::int64_t> waiting_since_ns_ = 0;  // since when, as far as is known
  mutable std::atomic<std::uint64_t> answered_ = 0;         // CallBoard::asked of the last answer
};

}  // namespace tasuki
