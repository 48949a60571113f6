// Tool: what MPI_T keeps (MPI 15.3): how often it was initialised, and the handles, sessions and
// registrations that it gave out. It outlives the Process: MPI_T may be used before MPI_Init and after
// MPI_Finalize.
//
// The variables themselves are tables below everything else: base/variables/settings.hpp (control variables),
// base/variables/counters.hpp (performance variables), base/variables/events.hpp (events),
// base/variables/variable.hpp (categories).
//
// Owner: the binding, which hands it from one Process to the next (hand_on_tool).
// Thread safety: `mutex` guards it; the binding holds it during each MPI_T call, below the process lock, and
// raise() takes it. It is recursive because an event's callback may call MPI_T.
//
// Invariants:
//  1. An accumulating handle (a counter, an aggregate, a timer) has counted total + (raw - base) while
//  started, total while stopped; so no session sees another one's starts, stops and resets.
//  2. Every started watermark handle's highest value is max(total, Level::highest); fold_watermarks() moves
//  the latter into all of them before it starts anew.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "base/variables/counters.hpp"
#include "base/variables/events.hpp"
#include "base/variables/settings.hpp"
#include "object/comm.hpp"
#include "tool/handles.hpp"

namespace tasuki {

/// The only source of events: the library's clock (MPI 15.3.8).
inline constexpr int kClockSource = 0;

/// What a callback may do (MPI 15.3.8), as an index into a registration's callbacks.
enum class Safety : int { kNone = 0, kRestricted = 3, kThreadSafe = 15, kSignalSafe = 63 };
inline constexpr int kSafeties = 4;
inline constexpr Safety kSafetyTable[kSafeties] = {Safety::kNone, Safety::kRestricted, Safety::kThreadSafe,
                                                   Safety::kSignalSafe};

struct ControlHandle {
  int setting;
};

struct PerformanceHandle {
  int counter;
  ToolHandle session;
  Ref<Comm> comm = {};  // that it is bound to; null: none, or that one's Process is gone
  bool started = false;
  bool has_value = false;   // of a watermark: total counts
  std::uint64_t total = 0;  // see invariants 1 and 2
  std::uint64_t base = 0;
};

struct PerformanceSession {};

struct EventCallback {
  AnyFunction function = nullptr;
  void* user_data = nullptr;
};

struct Registration {
  Event event;
  EventCallback callbacks[kSafeties] = {};
  AnyFunction dropped_function = nullptr;
  int calls = 0;  // callbacks of it that run
  bool freed = false;
  AnyFunction free_function = nullptr;
  void* free_data = nullptr;

  bool listens() const;
};

/// One event while its callbacks run.
struct EventInstance {
  ToolHandle handle;
  Event event;
  std::int64_t timestamp_ns;
  const EventElements* elements;
};

/// How a tool's functions are called; only the binding knows their types.
class ToolCallbacks {
 public:
  virtual void event(AnyFunction function, ToolHandle instance, ToolHandle registration, Safety safety,
                     void* user_data) = 0;
  virtual void dropped(AnyFunction function, Count count, ToolHandle registration, int source, Safety safety,
                       void* user_data) = 0;
  virtual void freed(AnyFunction function, ToolHandle registration, Safety safety, void* user_data) = 0;

 protected:
  ~ToolCallbacks() = default;
};

class Tool final : public EventListener {
 public:
  Tool();

  void raise(Event event, const EventElements& elements) override;

  // --- performance.cpp ---
  /// Brings every started watermark handle up to date and starts the level's highest value anew.
  void fold_watermarks(Process& process, std::size_t level_offset);
  /// The communicators' handles keep what they have counted; their Process ends.
  void release_communicators();

  // --- event.cpp ---
  EventInstance* find_instance(ToolHandle handle);
  std::uint32_t wanted_events();
  /// REQUIRES: none of its callbacks runs.
  void free_registration(ToolHandle handle, Safety safety);

  std::recursive_mutex mutex;
  int initialized = 0;  // MPI_T_init_thread less MPI_T_finalize
  ThreadLevel thread_level = ThreadLevel::kSingle;
  ToolCallbacks* callbacks = nullptr;
  bool has_config = false;            // the environment was read, before MPI_Init
  std::uint64_t written = 0;          // bit: a setting that was written by MPI_T
  std::vector<const EnumRow*> enums;  // all that a variable has
  ToolHandles<ControlHandle, ToolKind::kControl> controls;
  ToolHandles<PerformanceHandle, ToolKind::kPerformance> performances;
  ToolHandles<PerformanceSession, ToolKind::kSession> sessions;
  ToolHandles<Registration, ToolKind::kRegistration> registrations;

 private:
  void deliver(ToolHandle registration, const EventInstance& instance);

  std::vector<EventInstance*> instances_;  // whose callbacks run, the innermost last
  std::uint32_t instances_made_ = 0;
};

/// The handle of an enumeration; kNoToolHandle for null.
ToolHandle enum_handle(const Tool& tool, const EnumRow* row);

/// What a performance variable is bound to; kNoObject for a bad index.
Bind performance_bind(int index);

/// Puts a changed setting of process.config to use where its value is kept elsewhere.
void apply_setting(Process& process, const Setting& setting);

/// MPI starts: what MPI_T has written before goes into `config`.
void take_written_settings(const Process& before, Config* config);

/// MPI starts or ends: `to` is the Process from now on. It gets the tool, its events and the counts so far,
/// and when MPI ends the settings too.
void hand_on_tool(Process& from, Process& to);

}  // namespace tasuki
