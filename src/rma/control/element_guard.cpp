// ElementGuard: the change of the way in which words are combined.
#include "rma/control/element_guard.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

namespace tasuki::rma {
namespace {

/// The way, which no other rank changes now. REQUIRES: this rank holds part.change.
WordWay settled_way(const PartGuard& part, const LockUser& user) {
  const WordWay way = part.way.load(std::memory_order_acquire);
  if (way != WordWay::kInstructions && way != WordWay::kLocks) [[unlikely]]
    user.end_damaged("how words of a window are combined", static_cast<std::uint32_t>(way));
  return way;
}

}  // namespace

GuardRules guard_rules(Count granularity, bool can_change) {
  constexpr Count kWordBytesMax = 8;
  constexpr unsigned kBlockBitsMin = 8;
  constexpr unsigned kBlockBitsMax = 16;
  GuardRules rules;
  if (granularity > 0 && granularity <= kWordBytesMax) {
    rules.many_words = INT64_MAX;  // each word by itself, for ever
  } else if (granularity > 0) {
    const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(granularity - 1)));
    rules.first = WordWay::kLocks;
    rules.block_bits = std::clamp(bits, kBlockBitsMin, kBlockBitsMax);
  } else if (!can_change) {
    rules.first = WordWay::kLocks;
  }
  return rules;
}

bool ElementGuard::enter_after_change(PartGuard& part, OriginMark& own, const LockUser& user) {
  for (;;) {
    {
      const SharedLockGuard settled(&part.change, &user);
      if (settled_way(part, user) == WordWay::kLocks) return false;
    }
    own.inside.hold(user);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (part.way.load(std::memory_order_acquire) == WordWay::kInstructions) return true;
    own.inside.unlock();
  }
}

void ElementGuard::change_to_locks() const {
  const SharedLockGuard changing(&part_->change, user_);
  if (settled_way(*part_, *user_) == WordWay::kLocks) return;
  part_->way.store(WordWay::kChanging, std::memory_order_seq_cst);
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0) {
    part_->way.store(WordWay::kInstructions, std::memory_order_release);
    return;
  }
  for (int rank = 0; rank < ranks_; ++rank) marks_[rank].inside.wait_until_free(*user_);
  part_->way.store(WordWay::kLocks, std::memory_order_release);
}

bool allow_barriers_of_others() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

}  // namespace tasuki::rma
