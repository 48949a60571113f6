// The one link of a virtual node, in or out, that all of its ranks' packets share: how far its time is taken.
//
// Time is divided into slots, each of which says how much of it is taken. A packet takes its time from the
// slots from its beginning on, where they have some left. So packets may be booked in another order than they
// travel, which they are: many ranks book ahead, each for what it has handed over. Within a slot nothing says
// which part is taken, so a packet may be up to a slot early.
//
// Ownership: the job's region, zero at first. Thread safety: any rank of the job may book. What another rank
// wrote is not trusted: booking ends after a round through the slots whatever they hold.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tasuki::loop {

inline constexpr std::size_t kSlots = 4096;
inline constexpr std::int64_t kSlotBytes = 16 << 10;  // that a link carries in a slot's time: 64 MiB in all

inline constexpr int kTakenBits = 24;  // of a slot's nanoseconds, of which it has up to 16,384,000 (1 MB/s)
inline constexpr std::uint64_t kTakenMask = (std::uint64_t{1} << kTakenBits) - 1;

/// Writers: all ranks; relaxed, since nothing is published by it.
struct NodeAdapterShared {
  // Of slot n at n % kSlots: n's low 40 bits above, the nanoseconds that are taken in 24 bits below. 0: free.
  std::atomic<std::uint64_t> slots[kSlots];
};

class NodeAdapter {
 public:
  NodeAdapter() = default;
  NodeAdapter(NodeAdapterShared* shared, std::int64_t slot_ns) : shared_(shared), slot_ns_(slot_ns) {}

  /// Takes `occupied_ns` from `begin_ns` on, as early as there is room. Returns when the last of it ends:
  /// begin_ns + occupied_ns where no other packet is there.
  std::int64_t book(std::int64_t begin_ns, std::int64_t occupied_ns) {
    std::int64_t left_ns = occupied_ns;
    std::int64_t end_ns = begin_ns + occupied_ns;
    const std::int64_t first = begin_ns / slot_ns_;
    for (std::int64_t number = first; left_ns > 0 && number < first + std::int64_t{kSlots}; ++number) {
      const std::int64_t slot_begin_ns = number * slot_ns_;
      const std::int64_t taken_ns = take(number, std::max(slot_begin_ns, begin_ns), &left_ns);
      end_ns = std::max(end_ns, slot_begin_ns + taken_ns);
    }
    return end_ns;
  }

 private:
  /// Takes what it can of slot `number` from `begin_ns` on, up to *left_ns. Returns how much of it is taken
  /// then; 0: nothing came of it.
  std::int64_t take(std::int64_t number, std::int64_t begin_ns, std::int64_t* left_ns) {
    std::atomic<std::uint64_t>& slot = shared_->slots[static_cast<std::size_t>(number) % kSlots];
    const std::uint64_t own = static_cast<std::uint64_t>(number) << kTakenBits;
    std::uint64_t word = slot.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t there = word & ~kTakenMask;
      // A slot of an earlier round is free; in one of a later round this one's time is over. 40 bits go round
      // in 12 days, and tell earlier from later within six.
      if (word != 0 && there != own && static_cast<std::int64_t>(there - own) > 0) return 0;
      const std::int64_t taken_ns = there == own ? static_cast<std::int64_t>(word & kTakenMask) : 0;
      const std::int64_t part_ns =
          std::min({*left_ns, slot_ns_ - taken_ns, (number + 1) * slot_ns_ - begin_ns});
      if (part_ns <= 0) return 0;
      const std::uint64_t wanted = own | static_cast<std::uint64_t>(taken_ns + part_ns);
      if (!slot.compare_exchange_weak(word, wanted, std::memory_order_relaxed)) continue;
      *left_ns -= part_ns;
      return taken_ns + part_ns;
    }
  }

  NodeAdapterShared* shared_ = nullptr;
  std::int64_t slot_ns_ = 1;
};

}  // namespace tasuki::loop
