// RangeTable: the queue. See range_table.hpp.
#include "memory/range_table.hpp"

#include <algorithm>

namespace tasuki {
namespace {

/// A waiting request looks again after so many polls even if no release was counted: words may be damaged.
constexpr std::uint32_t kIdleLooksMax = 64;

}  // namespace

RangeTable::RangeTable(std::byte* memory, int members, int self, std::uint64_t key, const LockUser& user)
    : user_(user),
      key_(key),
      members_(members),
      self_(self),
      bucket_(reinterpret_cast<Bucket*>(memory)[key % kRangeBuckets]),
      slots_(reinterpret_cast<Slot*>(memory + kRangeBuckets * sizeof(Bucket))),
      own_(slots_ + static_cast<std::size_t>(self) * kRangeSlots) {}

int RangeTable::another_slot() {
  const auto used = static_cast<std::uint32_t>(used_by(self_));
  for (std::uint32_t slot = 0; slot < used; ++slot) {
    if (own_[slot].key.load(std::memory_order_relaxed) == 0) return static_cast<int>(slot);
  }
  if (used == kRangeSlots) return kNone;
  own_[0].used.store(used + 1, std::memory_order_seq_cst);  // a member that misses it is seen by what follows
  return static_cast<int>(used);
}

std::size_t RangeTable::used_by(int member) const {
  const std::size_t used = slots_of(member)[0].used.load(std::memory_order_seq_cst);
  return std::min(used, kRangeSlots);
}

int RangeTable::queue(Offset begin, Offset end, bool exclusive) {
  const int slot = free_slot();
  if (slot == kNone) return kNone;
  Slot& mine = own_[slot];
  const std::uint32_t kind = exclusive ? kExclusive : 0;
  if (exclusive) bucket_.exclusives.fetch_add(1, std::memory_order_seq_cst);
  bucket_.gate.lock(user_);
  const std::uint64_t ticket = bucket_.tickets.load(std::memory_order_relaxed) + 1;
  bucket_.tickets.store(ticket, std::memory_order_relaxed);
  mine.begin.store(begin, std::memory_order_release);
  mine.end.store(end, std::memory_order_release);
  mine.ticket.store(ticket, std::memory_order_release);
  mine.state.store(kWaits | kind, std::memory_order_release);
  mine.key.store(key_, std::memory_order_seq_cst);
  if (!meets_conflict(mine)) {
    mine.state.store(kHoldsShared | kind, std::memory_order_relaxed);
  } else {
    Look& look = looks_[static_cast<std::size_t>(slot)];
    look = {bucket_.releases.load(std::memory_order_seq_cst), kIdleLooksMax};  // looks again at once
    bucket_.waiting.fetch_add(1, std::memory_order_seq_cst);
  }
  bucket_.gate.unlock();
  return slot;
}

bool RangeTable::admit(int slot) {
  Slot& mine = own_[slot];
  const std::uint32_t state = mine.state.load(std::memory_order_relaxed);
  if ((state & kWaits) == 0) return true;
  Look& look = looks_[static_cast<std::size_t>(slot)];
  const std::uint32_t releases = bucket_.releases.load(std::memory_order_seq_cst);
  if (releases == look.releases && look.idle++ < kIdleLooksMax) return false;
  look = {releases, 0};
  bucket_.gate.lock(user_);
  const bool admitted = !meets_conflict(mine);
  if (admitted) {
    mine.state.store(state ^ (kWaits | kHoldsShared), std::memory_order_relaxed);
    bucket_.waiting.fetch_sub(1, std::memory_order_seq_cst);
  }
  bucket_.gate.unlock();
  return admitted;
}

/// Whether what stands in `other` keeps `mine`, of that state, waiting.
bool RangeTable::conflict(const Slot& mine, std::uint32_t state, const Slot& other) {
  const std::uint32_t its = other.state.load(std::memory_order_acquire);
  if (((state | its) & kExclusive) == 0) return false;
  if (other.begin.load(std::memory_order_acquire) >= mine.end.load(std::memory_order_relaxed) ||
      mine.begin.load(std::memory_order_relaxed) >= other.end.load(std::memory_order_acquire))
    return false;
  return (its & kWaits) == 0 ||
         other.ticket.load(std::memory_order_acquire) < mine.ticket.load(std::memory_order_relaxed);
}

/// Behind the gate. A slot that changes meanwhile is one that was let go of, or a shared one whose member
/// will see that this request is there: so what is read of it does not matter.
bool RangeTable::meets_conflict(const Slot& mine) const {
  const std::uint32_t state = mine.state.load(std::memory_order_relaxed);
  for (int member = 0; member < members_; ++member) {
    const Slot* slots = slots_of(member);
    for (std::size_t slot = 0; slot < used_by(member); ++slot) {
      const Slot& other = slots[slot];
      if (&other == &mine || other.key.load(std::memory_order_seq_cst) != key_) continue;
      if (conflict(mine, state, other)) return true;
    }
  }
  return false;
}

int RangeTable::next_waiting(int member) const {
  for (; member < members_; ++member) {
    const Slot* slots = slots_of(member);
    for (std::size_t slot = 0; slot < used_by(member); ++slot) {
      if (slots[slot].key.load(std::memory_order_seq_cst) == key_ &&
          (slots[slot].state.load(std::memory_order_relaxed) & kWaits) != 0)
        return member;
    }
  }
  return kNone;
}

int RangeTable::damaged() const {
  for (int member = 0; member < members_; ++member) {
    const Slot* slots = slots_of(member);
    if (slots[0].used.load(std::memory_order_relaxed) > kRangeSlots) return member;
    for (std::size_t slot = 0; slot < kRangeSlots; ++slot) {
      const std::uint32_t state = slots[slot].state.load(std::memory_order_relaxed);
      if ((state & ~kStates) != 0 || (state & (kHoldsShared | kWaits)) == (kHoldsShared | kWaits))
        return member;
    }
  }
  return kNone;
}

}  // namespace tasuki
