// ElementGuard: the change of the way in which words are combined.
#include "rma/control/element_guard.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "base/system/clock.hpp"
#include "base/system/processor_hints.hpp"

namespace tasuki::rma {
namespace {

/// Waits for ranks that are amid a few instructions; they may have lost their processor there.
/// `waits_on(value)` says what `word` of `owner` has while they are, `is_legal(value)` what it can have.
template <class Owner, class Word, class WaitsOn, class IsLegal>
void wait_briefly(const GuardWaits& waits, const Owner& owner, const std::atomic<Word>& word,
                  WaitsOn&& waits_on, IsLegal&& is_legal) {
  constexpr int kLooks = 100;
  std::int64_t begin_ns = 0;
  for (int look = 0;; ++look) {
    const Word value = word.load(std::memory_order_acquire);
    if (!is_legal(value)) [[unlikely]]
      waits.end_damaged(owner, static_cast<std::uint32_t>(value));
    if (!waits_on(value)) return;
    if (look < kLooks) {
      relax_processor();
      continue;
    }
    sched_yield();
    const std::int64_t now_ns = clock_ns();
    if (begin_ns == 0) begin_ns = now_ns;
    if (now_ns - begin_ns > waits.nanoseconds_max) [[unlikely]]
      waits.end_late(owner);
  }
}

void wait_for_change(const GuardWaits& waits, const PartGuard& part) {
  wait_briefly(
      waits, part, part.way, [](WordWay way) { return way == WordWay::kChanging; },
      [](WordWay way) { return way <= WordWay::kLocks; });
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

void ElementGuard::wait_for_locks(const PartGuard& part, OriginMark& own, const GuardWaits& waits) {
  own.inside.store(0, std::memory_order_release);
  wait_for_change(waits, part);
}

void ElementGuard::change_to_locks() const {
  WordWay found = WordWay::kInstructions;
  if (!part_->way.compare_exchange_strong(found, WordWay::kChanging, std::memory_order_seq_cst)) {
    wait_for_change(*waits_, *part_);
    return;
  }
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0) {
    part_->way.store(WordWay::kInstructions, std::memory_order_release);
    return;
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    wait_briefly(
        *waits_, marks_[rank], marks_[rank].inside, [](std::uint32_t inside) { return inside != 0; },
        [](std::uint32_t inside) { return inside <= 1; });
  }
  part_->way.store(WordWay::kLocks, std::memory_order_release);
}

bool allow_barriers_of_others() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

}  // namespace tasuki::rma
