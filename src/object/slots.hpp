// Slots: places in an object (a communicator, a session) where upper floors keep what belongs to it, such as
// the shared memory of its collectives. The object knows the places, not what is in them. The user of a slot
// gives it its type, in a header of its own:
//
//   inline constexpr Slot<NodeMap> kNodeMapSlot{SlotNumber::kNodeMap};
//   NodeMap* map = comm.slots.get(kNodeMapSlot);
//
// get() is one load, for the hot paths. The contents are ended with their object, in the order of SlotNumber.
// What is in a slot may be shared, between communicators or with what still runs on one.
//
// Thread safety: the process lock guards them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace tasuki {

/// All slots that there are, and the order in which their contents are ended: contents further up
/// may use those further down until then.
enum class SlotNumber : std::uint8_t {
  kHierarchy,
  kNodeSegment,
  kProcessors,
  kBuffer,
  kNodeMap,
  kCount,
};

template <class T>
struct Slot {
  SlotNumber number;
};

class Slots {
 public:
  Slots() = default;
  ~Slots() {
    for (auto& content : contents_) content.reset();
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  /// Null: nothing has been put there, or null.
  template <class T>
  T* get(Slot<T> slot) const {
    return static_cast<T*>(contents_[index(slot)].get());
  }
  template <class T>
  std::shared_ptr<T> share(Slot<T> slot) const {
    return std::static_pointer_cast<T>(contents_[index(slot)]);
  }

  /// `content` may be null: then get() gives null, and is_set() remembers that it was tried.
  template <class T>
  void set(Slot<T> slot, std::shared_ptr<T> content) {
    set_ |= 1u << index(slot);
    contents_[index(slot)] = std::const_pointer_cast<std::remove_const_t<T>>(std::move(content));
  }
  template <class T>
  bool is_set(Slot<T> slot) const {
    return (set_ >> index(slot) & 1u) != 0;
  }
  template <class T>
  void clear(Slot<T> slot) {
    contents_[index(slot)].reset();
  }

 private:
  template <class T>
  static constexpr std::size_t index(Slot<T> slot) {
    return static_cast<std::size_t>(slot.number);
  }

  std::array<std::shared_ptr<void>, static_cast<std::size_t>(SlotNumber::kCount)> contents_;
  std::uint32_t set_ = 0;
};

}  // namespace tasuki
