// TestLockUser: a thread or a process of a test as a user of SharedLocks.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/system/process_state.hpp"
#include "base/system/shared_lock.hpp"

namespace tasuki {

/// Ends the program with 7 where a holder has died, or a word is damaged.
class TestLockUser final : public LockUser {
 public:
  /// `processes`: of the users by their numbers; none where they are threads.
  TestLockUser(int number, int count, std::vector<ProcessIdentity> processes = {})
      : LockUser(number, count), processes_(std::move(processes)) {}

  bool has_died(int number) const override {
    return !processes_.empty() && has_ended(processes_[static_cast<std::size_t>(number)], own_numbering());
  }
  [[noreturn]] void end_dead(int number) const override {
    std::fprintf(stderr, "user %d died while it held a lock\n", number);
    std::_Exit(7);
  }
  [[noreturn]] void end_damaged(const char* what, std::uint32_t value) const override {
    std::fprintf(stderr, "%s is %u, which none of them writes\n", what, value);
    std::_Exit(7);
  }

 private:
  std::vector<ProcessIdentity> processes_;
};

}  // namespace tasuki
