// ElementGuard: the change of the way in which words are combined.
#include "rma/control/element_guard.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "base/system/processor_hints.hpp"

namespace tasuki::rma {
namespace {

/// Waits for ranks that are amid a few instructions; they may have lost their processor there.
template <class Done>
void wait_briefly(Done&& done) {
  constexpr int kLooks = 100;
  for (int look = 0; !done(); ++look) look < kLooks ? relax_processor() : static_cast<void>(sched_yield());
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

void ElementGuard::wait_for_locks(const PartGuard& part, OriginMark& own) {
  own.inside.store(0, std::memory_order_release);
  wait_briefly([&part] { return part.way.load(std::memory_order_acquire) != WordWay::kChanging; });
}

void ElementGuard::change_to_locks() const {
  WordWay found = WordWay::kInstructions;
  if (!part_->way.compare_exchange_strong(found, WordWay::kChanging, std::memory_order_seq_cst)) {
    wait_briefly([this] { return part_->way.load(std::memory_order_acquire) != WordWay::kChanging; });
    return;
  }
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0) {
    part_->way.store(WordWay::kInstructions, std::memory_order_release);
    return;
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::atomic<std::uint32_t>& inside = marks_[rank].inside;
    wait_briefly([&inside] { return inside.load(std::memory_order_acquire) == 0; });
  }
  part_->way.store(WordWay::kLocks, std::memory_order_release);
}

bool allow_barriers_of_others() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

}  // namespace tasuki::rma
