// HandleTable: the handles that a program holds, and the objects of the core that they stand for.
//
// A value is never 0, and its bit 31 is clear; each ABI codes it into its handles (abi.hpp). It has one of
// two forms:
//   [kind 4][generation 7][index 20]  names one of the first 2^20 slots (narrow slots). Kinds are coded from
//   5 on.
//       A slot's generation changes when it is freed: a freed handle is recognised until its slot has been
//       used 128 times more.
//   [001][index - 2^20, 28]           names one of the slots after these (wide slots). They are used only
//   while
//       all narrow ones are. A freed handle is recognised until its slot is used again.
//
// The table grows as memory allows: it doubles, or refuses. A rank whose memory is nearly used up so learns
// it from an error while it still has memory to go on with.
//
// The same object may be handed out several times (MPI_Comm_group) and is freed as often: a slot counts its
// uses and lives until the last is dropped.
//
// Thread safety: the caller holds the process lock, if there is one. The table lives as long as the program:
// it is never destroyed, so that calls made while the program exits stay legal.
//
// Invariants:
//  1. slots_[i].object is null, or slots_[i].value is its one valid handle and slots_[i].uses > 0.
//  2. object->handle is a hint: it counts only if its slot still holds that object.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "object/object.hpp"

namespace tasuki {

class HandleTable {
 public:
  static constexpr unsigned kIndexBits = 20;
  static constexpr unsigned kGenerationBits = 7;
  static constexpr std::uint32_t kIndexMask = (1U << kIndexBits) - 1;
  static constexpr std::uint32_t kKindFirst = 4;  // kinds are coded from 5 on: see mpich/abi.hpp
  static constexpr std::uint32_t kNarrowSlots = 1U << kIndexBits;
  static constexpr std::uint32_t kWide = 1U << 28;  // wide values are kWide .. 2 * kWide - 1
  static constexpr std::uint32_t kSpareSlots = 64;  // acquire() alone may use them
  static constexpr std::uint32_t kLimitMax = kNarrowSlots + kWide - kSpareSlots;

  /// The object that `value` stands for, or null: freed, never given out, or of another kind.
  Object* find(std::uint32_t value, Kind kind) const {
    const std::uint32_t index = value & kIndexMask;
    if (index >= size_ || slots_[index].value != value || !is_kind(value, kind)) [[unlikely]]
      return find_wide(value, kind);
    return slots_[index].object;
  }

  /// The same for any kind.
  Object* find(std::uint32_t value) const {
    const std::uint32_t number = slot_number(value);
    return number < size_ && slots_[number].value == value ? slots_[number].object : nullptr;
  }

  /// Whether a slot is free. A call that gives the program a handle asks before it begins.
  bool has_free_slot() const { return free_narrow_ != kNone; }

  /// Sees to it that `count` slots are free. Returns false when the limit is reached or memory is short.
  bool make_room(std::uint32_t count) {
    std::uint32_t free = 0;
    for (const std::uint32_t first : {free_narrow_, free_wide_}) {
      for (std::uint32_t index = first; index != kNone && free < count; index = slots_[index].next_free)
        ++free;
    }
    while (free < count && append(kSpareSlots)) ++free;
    return free >= count;
  }

  /// A handle for `object`, which must not be predefined: its old one with one use more, or a new one.
  /// Returns 0 when there is no free slot and none can be made.
  std::uint32_t acquire(Object* object) {
    if (object->handle != 0) {
      const std::uint32_t old = object->handle & kIndexMask;
      if (old < size_ && slots_[old].object == object) {
        ++slots_[old].uses;
        return slots_[old].value;
      }
      if (is_wide(object->handle)) [[unlikely]] {
        if (Slot* const slot = wide_slot(object->handle); slot != nullptr && slot->object == object) {
          ++slot->uses;
          return slot->value;
        }
      }
    }
    if (free_narrow_ == kNone && (size_ >= kNarrowSlots || !append(0))) return acquire_wide(object);
    const std::uint32_t index = free_narrow_;
    Slot& slot = slots_[index];
    free_narrow_ = slot.next_free;
    slot.object = object;
    slot.uses = 1;
    slot.value = code(object->kind) << (kIndexBits + kGenerationBits) | slot.generation << kIndexBits | index;
    object->handle = slot.value;
    return slot.value;
  }

  /// Gives back one use of a valid value. Does not touch the object, which may be gone already.
  void drop(std::uint32_t value) {
    const std::uint32_t index = value & kIndexMask;
    if (index >= size_ || slots_[index].value != value) [[unlikely]]
      return drop_wide(value);
    Slot& slot = slots_[index];
    if (--slot.uses != 0) return;
    slot.object = nullptr;
    slot.value = 0;
    slot.generation = (slot.generation + 1) & ((1U << kGenerationBits) - 1);
    slot.next_free = free_narrow_;
    free_narrow_ = index;
  }

  /// Calls `each(Object*, value, uses)` for all valid handles.
  template <class Each>
  void for_each(Each&& each) const {
    for (std::uint32_t index = 0; index < size_; ++index) {
      const Slot& slot = slots_[index];
      if (slot.object != nullptr) each(slot.object, slot.value, slot.uses);
    }
  }

  /// From now on at most that many handles of different objects; those that are in use stay.
  void set_limit(std::uint32_t handles) { limit_ = std::min(handles, kLimitMax); }
  std::uint32_t limit() const { return limit_; }

  /// The slots that were ever used: that many handles were in use at one time. The last of them is the
  /// newest.
  std::uint32_t size() const { return size_; }

  /// Whether a valid value is the first of its slot. (Of a narrow slot it may be the 129th.)
  bool is_first_of_slot(std::uint32_t value) const { return slots_[slot_number(value)].generation == 0; }

  /// The number of a value's slot.
  static std::uint32_t slot_number(std::uint32_t value) {
    return is_wide(value) ? value - kWide + kNarrowSlots : value & kIndexMask;
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;

  struct Slot {
    Object* object;
    std::uint32_t value;
    std::uint32_t generation;  // how often it was freed; of a narrow slot modulo 128
    union {
      std::uint64_t uses;       // while it holds an object
      std::uint32_t next_free;  // else
    };
  };
  static_assert(sizeof(Slot) == 24);

  static std::uint32_t code(Kind kind) { return static_cast<std::uint32_t>(kind) + kKindFirst; }
  static bool is_kind(std::uint32_t value, Kind kind) {
    return value >> (kIndexBits + kGenerationBits) == code(kind);
  }
  static bool is_wide(std::uint32_t value) { return (value & ~(kWide - 1)) == kWide; }

  /// The slot that this wide value is the handle of, or null.
  Slot* wide_slot(std::uint32_t value) const {
    const std::uint32_t index = slot_number(value);
    return is_wide(value) && index < size_ && slots_[index].value == value ? &slots_[index] : nullptr;
  }
  [[gnu::cold, gnu::noinline]] Object* find_wide(std::uint32_t value, Kind kind) const {
    const Slot* const slot = wide_slot(value);
    return slot != nullptr && slot->object->kind == kind ? slot->object : nullptr;
  }
  [[gnu::cold, gnu::noinline]] std::uint32_t acquire_wide(Object* object) {
    if (free_wide_ == kNone && (size_ < kNarrowSlots || !append(0))) return 0;
    const std::uint32_t index = free_wide_;
    Slot& slot = slots_[index];
    free_wide_ = slot.next_free;
    slot.object = object;
    slot.uses = 1;
    slot.value = kWide + (index - kNarrowSlots);
    object->handle = slot.value;
    return slot.value;
  }
  [[gnu::cold, gnu::noinline]] void drop_wide(std::uint32_t value) {
    Slot* const slot = wide_slot(value);
    if (slot == nullptr || --slot->uses != 0) return;
    slot->object = nullptr;
    slot->value = 0;
    ++slot->generation;
    slot->next_free = free_wide_;
    free_wide_ = static_cast<std::uint32_t>(slot - slots_);
  }

  /// One more slot, which is free, if `spare` more would be within the limit and in memory.
  [[gnu::cold, gnu::noinline]] bool append(std::uint32_t spare) {
    const std::uint32_t end = size_ + spare;
    if (end >= limit_ + kSpareSlots || (end >= capacity_ && !extend())) return false;
    std::uint32_t& first = size_ < kNarrowSlots ? free_narrow_ : free_wide_;
    Slot& slot = slots_[size_];
    slot.object = nullptr;
    slot.value = 0;
    slot.generation = 0;
    slot.next_free = first;
    first = size_++;
    return true;
  }
  bool extend() {
    const std::uint32_t capacity = capacity_ == 0 ? 256 : std::min(2 * capacity_, kLimitMax + kSpareSlots);
    auto* slots = static_cast<Slot*>(std::realloc(slots_, capacity * sizeof(Slot)));
    if (slots == nullptr) return false;
    slots_ = slots;
    capacity_ = capacity;
    return true;
  }

  Slot* slots_ = nullptr;
  std::uint32_t size_ = 0;      // the slots that were ever used
  std::uint32_t capacity_ = 0;  // the slots that there is memory for
  std::uint32_t limit_ = kLimitMax;
  std::uint32_t free_narrow_ = kNone;
  std::uint32_t free_wide_ = kNone;
};

}  // namespace tasuki
