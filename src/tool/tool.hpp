// Tool: what MPI_T keeps (MPI 15.3): how often it was initialised, and the handles, sessions and
// registrations that it gave out. It outlives the Process: MPI_T may be used before MPI_Init and after
// MPI_Finalize.
//
// The variables themselves are tables below everything else: base/variables/settings.hpp (control variables),
// base/variables/counters.hpp (performance variables), base/variables/events.hpp (events),
// base/variables/variable.hpp (categories).
//
// Owner: the binding, which hands it from one Process to the next (hand_on_tool).
// A tool's functions run without the process lock, where calls hold it. An event may be raised where it
// cannot be let go, amid a packet; so it is kept then, and told when a call ends, or by progress.
//
// Thread safety: `mutex` guards it; the binding holds it during each MPI_T call, below the process lock, and
// raise() and tell() take it. It is recursive because a call of MPI_T may raise an event: it frees the last
// use of a communicator. A tool's functions run without it.
//
// Invariants:
//  1. An accumulating handle (a counter, an aggregate, a timer) has counted total + (raw - base) while
//  started, total while stopped; so no session sees another one's starts, stops and resets.
//  2. Every started watermark handle's highest value is max(total, Level::highest); fold_watermarks() moves
//  the latter into all of them before it starts anew.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "base/variables/counters.hpp"
#include "base/variables/events.hpp"
#include "base/variables/settings.hpp"
#include "object/comm.hpp"
#include "progress/progress.hpp"
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
  int calls = 0;      // callbacks of it that run
  Count dropped = 0;  // events of which its handler has not heard
  bool freed = false;
  AnyFunction free_function = nullptr;
  void* free_data = nullptr;

  bool listens() const;
};

/// One event from its moment on until its callbacks have run.
struct EventInstance {
  ToolHandle handle;
  Event event;
  std::int64_t timestamp_ns;
  EventElements elements;
  std::vector<ToolHandle> listening;  // registrations, as they were then
};

/// How a tool's functions are called, without the process lock; only the binding knows their types.
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
  /// From now on what is raised is kept until tell(), which that rank's progress calls too; null: no more.
  /// REQUIRES: nothing is kept, or another thread tells it.
  void tell_later(Process* process);
  /// Whether something is kept that no thread tells.
  bool is_due() const { return is_due_; }
  /// Calls the tool's functions with what was kept, in order; of several threads one does.
  void tell();

  // --- performance.cpp ---
  /// Brings every started watermark handle up to date and starts the level's highest value anew.
  void fold_watermarks(Process& process, std::size_t level_offset);
  /// The communicators' handles keep what they have counted; their Process ends.
  void release_communicators();

  // --- event.cpp ---
  /// Null unless its callbacks run.
  const EventInstance* find_instance(ToolHandle handle) const;
  std::uint32_t wanted_events();
  /// REQUIRES: none of its callbacks runs; the lock is held once.
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
  class Hook final : public ProgressHook {
   public:
    explicit Hook(Tool& tool) : tool_(tool) {}
    bool poll() override;

   private:
    Tool& tool_;
  };

  void deliver(ToolHandle registration, const EventInstance& instance);
  void tell_dropped(ToolHandle handle, Registration* registration);

  std::deque<EventInstance> kept_;       // not told yet, the eldest first
  const EventInstance* told_ = nullptr;  // whose callbacks run
  bool is_due_ = false;                  // see is_due(); the process lock guards it, too
  Progress* progress_ = nullptr;         // of whom they are told later
  Hook hook_{*this};                     // of that progress while something is kept
  bool is_hooked_ = false;
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
