// SlotPool: objects of one type, made and given back without malloc once the pool has grown. Each has an id
// that may travel in packets: an id that is stale or forged finds nothing.
//
// Thread safety: none; the process lock guards it.
//
// Invariants:
//  1. A slot's generation is odd while an object lives in it, even while it is free; it only grows.
//  2. Slots never move and are freed with the pool.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "protocol/packet.hpp"

namespace tasuki {

template <class T>
class SlotPool {
 public:
  SlotPool() = default;
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  template <class... Arguments>
  T* make(Arguments&&... arguments) {
    if (free_ == nullptr) grow();
    Slot* slot = free_;
    free_ = slot->next_free;
    ++slot->generation;
    return ::new (static_cast<void*>(slot->storage)) T(std::forward<Arguments>(arguments)...);
  }

  /// Ends the object's life. REQUIRES: made here.
  void destroy(T* object) {
    object->~T();
    Slot* slot = slot_of(object);
    ++slot->generation;
    slot->next_free = free_;
    free_ = slot;
  }

  RequestId id(const T* object) const {
    const Slot* slot = slot_of(object);
    return RequestId{slot->generation} << 32 | slot->index;
  }

  /// The living object of that id, or null.
  T* find(RequestId id) {
    const auto index = static_cast<std::uint32_t>(id);
    const auto generation = static_cast<std::uint32_t>(id >> 32);
    if (index >= chunks_.size() * kChunkSlots || generation % 2 == 0) return nullptr;
    Slot& slot = (*chunks_[index / kChunkSlots])[index % kChunkSlots];
    return slot.generation == generation ? object_in(slot) : nullptr;
  }

  template <class Each>
  void for_each(Each&& each) {
    for (auto& chunk : chunks_) {
      for (Slot& slot : *chunk) {
        if (slot.generation % 2 == 1) each(*object_in(slot));
      }
    }
  }

 private:
  static constexpr std::size_t kChunkSlots = 64;
  struct Slot {
    alignas(T) std::byte storage[sizeof(T)];
    Slot* next_free;
    std::uint32_t index;
    std::uint32_t generation;
  };
  using Chunk = std::array<Slot, kChunkSlots>;

  static T* object_in(Slot& slot) { return std::launder(reinterpret_cast<T*>(slot.storage)); }
  static Slot* slot_of(T* object) { return reinterpret_cast<Slot*>(object); }
  static const Slot* slot_of(const T* object) { return reinterpret_cast<const Slot*>(object); }

  void grow() {
    chunks_.push_back(std::unique_ptr<Chunk>(new Chunk));
    Chunk& chunk = *chunks_.back();
    for (std::size_t i = kChunkSlots; i-- > 0;) {
      chunk[i].index = static_cast<std::uint32_t>((chunks_.size() - 1) * kChunkSlots + i);
      chunk[i].generation = 0;
      chunk[i].next_free = free_;
      free_ = &chunk[i];
    }
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  Slot* free_ = nullptr;
};

}  // namespace tasuki
