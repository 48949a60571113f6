// HandleTable: the handles that a program holds, and the objects of the core that they stand for.
//
// A value is [kind 4][generation 7][index 20] bits, never 0, bit 31 clear; each ABI codes it into its handles
// (abi.hpp). A slot's generation changes when it is freed, so a freed handle is recognised until the
// slot has been used 128 times more.
//
// The same object may be handed out several times (MPI_Comm_get_errhandler) and is freed as often: a slot
// counts its uses and lives until the last is dropped.
//
// Thread safety: the caller holds the process lock, if there is one. The table lives as long as the program:
// it is never destroyed, so that calls made while the program exits stay legal.
//
// Invariants:
//  1. slots_[i].object is null, or slots_[i].value is its one valid handle and slots_[i].uses > 0.
//  2. object->handle is a hint: it counts only if its slot still holds that object.
#pragma once

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

  /// The object that `value` stands for, or null: freed, never given out, or of another kind.
  Object* find(std::uint32_t value, Kind kind) const {
    const std::uint32_t index = value & kIndexMask;
    if (index >= size_ || slots_[index].value != value || !is_kind(value, kind)) return nullptr;
    return slots_[index].object;
  }

  /// A handle for `object`, which must not be predefined: its old one with one use more, or a new one.
  /// Returns 0 when 2^20 handles are in use or memory is short.
  std::uint32_t acquire(Object* object) {
    const std::uint32_t old = object->handle & kIndexMask;
    if (object->handle != 0 && old < size_ && slots_[old].object == object) {
      ++slots_[old].uses;
      return slots_[old].value;
    }
    if (free_first_ == kNone && !grow()) return 0;
    const std::uint32_t index = free_first_;
    Slot& slot = slots_[index];
    free_first_ = slot.next_free;
    slot.object = object;
    slot.uses = 1;
    slot.value = code(object->kind) << (kIndexBits + kGenerationBits) | slot.generation << kIndexBits | index;
    object->handle = slot.value;
    return slot.value;
  }

  /// Gives back one use of a valid value. Does not touch the object, which may be gone already.
  void drop(std::uint32_t value) {
    const std::uint32_t index = value & kIndexMask;
    if (index >= size_ || slots_[index].value != value) return;
    Slot& slot = slots_[index];
    if (--slot.uses != 0) return;
    slot.object = nullptr;
    slot.value = 0;
    slot.generation = (slot.generation + 1) & ((1U << kGenerationBits) - 1);
    slot.next_free = free_first_;
    free_first_ = index;
  }

  /// Calls `each(Object*, value, uses)` for all valid handles.
  template <class Each>
  void for_each(Each&& each) const {
    for (std::uint32_t index = 0; index < size_; ++index) {
      const Slot& slot = slots_[index];
      if (slot.object != nullptr) each(slot.object, slot.value, slot.uses);
    }
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;

  struct Slot {
    Object* object;
    std::uint32_t value;
    std::uint32_t uses;
    std::uint32_t generation;
    std::uint32_t next_free;
  };
  static_assert(sizeof(Slot) == 24);

  static std::uint32_t code(Kind kind) { return static_cast<std::uint32_t>(kind) + kKindFirst; }
  static bool is_kind(std::uint32_t value, Kind kind) {
    return value >> (kIndexBits + kGenerationBits) == code(kind);
  }

  bool grow() {
    const std::uint32_t size = size_ == 0 ? 256 : 2 * size_;
    if (size > kIndexMask + 1) return false;
    auto* slots = static_cast<Slot*>(std::realloc(slots_, size * sizeof(Slot)));
    if (slots == nullptr) return false;
    slots_ = slots;
    for (std::uint32_t index = size; index-- > size_;) {
      slots_[index] = Slot{nullptr, 0, 0, 0, free_first_};
      free_first_ = index;
    }
    size_ = size;
    return true;
  }

  Slot* slots_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t free_first_ = kNone;
};

}  // namespace tasuki
