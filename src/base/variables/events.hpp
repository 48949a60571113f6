// Events: what a rank reports to a tool at the moment when it happens (MPI 15.3.8), the one table that
// describes them, and the interface between the code that raises them and the listener (src/tool).
//
// Where no tool listens an event costs one predictable branch: is_wanted(). None is raised on the way of a
// short message whose receive is posted.
//
// Thread safety: raised under the process lock, or by the rank's only thread. `wanted` may be set by another
// thread; an event that is raised meanwhile may be lost.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/variables/variable.hpp"

namespace tasuki {

enum class Event : std::uint8_t {
  kUnexpectedMessage,
  kSendChosen,
  kSleep,
  kWake,
  kCommCreated,
  kCommFreed,
};
inline constexpr int kEvents = 6;
inline constexpr int kEventElementsMax = 4;

/// One number that comes with an event; all are MPI_INT64_T.
using EventElements = std::array<std::int64_t, kEventElementsMax>;

struct EventRow {
  const char* name;
  Verbosity verbosity;
  Part part;
  const EnumRow* elements;  // their names; null where there are none
  const char* description;  // says what each element is, in order

  int element_count() const { return elements != nullptr ? elements->size : 0; }
};

/// By Event, which is also the index in MPI_T.
std::span<const EventRow> event_table();

class EventListener {
 public:
  virtual void raise(Event event, const EventElements& elements) = 0;

 protected:
  ~EventListener() = default;
};

/// Of a Process: its listener, and the events that are wanted.
struct EventSwitch {
  std::uint32_t wanted = 0;  // bit: Event
  EventListener* listener = nullptr;

  bool is_wanted(Event event) const {
    return (__atomic_load_n(&wanted, __ATOMIC_RELAXED) >> static_cast<int>(event) & 1) != 0;
  }
  /// REQUIRES: called only where is_wanted(event).
  [[gnu::cold]] void raise(Event event, const EventElements& elements) const {
    listener->raise(event, elements);
  }
};

}  // namespace tasuki
