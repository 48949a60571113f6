// Events (MPI 15.3.8): registrations, the calls of a tool's functions, and what these may ask.
//
// All our events are raised inside of MPI calls, so they require callbacks that are registered for
// MPI_T_CB_REQUIRE_MPI_RESTRICTED at least; for a registration that has only one of a lower level, the event
// is dropped, and the dropped handler hears of it when it would have been told. Callbacks of one process
// never run at the same time.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/system/clock.hpp"
#include "object/objects.hpp"
#include "tool/api.hpp"
#include "tool/tool.hpp"

namespace tasuki {
namespace {

constexpr Safety kRequired = Safety::kRestricted;  // where our events are raised
constexpr Count kTicksPerSecond = 1'000'000'000;
constexpr std::size_t kKeptMax = 1024;  // events that wait until they can be told; more are dropped

/// The tool's lock let go for a scope, in which one of its functions runs.
class FreeForOthers {
 public:
  explicit FreeForOthers(std::recursive_mutex& mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~FreeForOthers() { mutex_.lock(); }
  FreeForOthers(const FreeForOthers&) = delete;
  FreeForOthers& operator=(const FreeForOthers&) = delete;

 private:
  std::recursive_mutex& mutex_;
};

int safety_index(int safety) {
  for (int index = 0; index < kSafeties; ++index) {
    if (static_cast<int>(kSafetyTable[index]) == safety) return index;
  }
  return -1;
}

const EventRow* event_row_at(int index) {
  return index >= 0 && index < kEvents ? &event_table()[static_cast<std::size_t>(index)] : nullptr;
}

Registration* find(Process& process, ToolHandle handle) {
  Registration* registration = process.tool->registrations.find(handle);
  return registration != nullptr && !registration->freed ? registration : nullptr;
}

}  // namespace

bool Registration::listens() const {
  return !freed && std::any_of(std::begin(callbacks), std::end(callbacks),
                               [](const EventCallback& callback) { return callback.function != nullptr; });
}

void Tool::raise(Event event, const EventElements& elements) {
  const std::lock_guard lock(mutex);
  std::vector<ToolHandle> listening;
  const bool is_room = kept_.size() < kKeptMax;
  registrations.for_each([&](ToolHandle handle, Registration& registration) {
    if (registration.event != event || !registration.listens()) return;
    listening.push_back(handle);
    if (!is_room) ++registration.dropped;
  });
  if (is_room) {
    kept_.push_back({tool_handle(ToolKind::kInstance, ++instances_made_, 0), event, clock_ns(), elements,
                     std::move(listening)});
  }
  if (progress_ == nullptr) return tell();
  is_due_ = told_ == nullptr;
  if (!std::exchange(is_hooked_, true)) progress_->add(&hook_);
}

void Tool::tell_later(Process* process) {
  const std::lock_guard lock(mutex);
  if (std::exchange(is_hooked_, false)) progress_->remove(&hook_);
  progress_ = process != nullptr ? process->progress.get() : nullptr;
}

bool Tool::Hook::poll() {
  // The thread that makes progress beside the program's calls no function of theirs.
  if (tool_.is_due_ && !tool_.progress_->is_helper()) tool_.tell();
  return false;
}

void Tool::tell() {
  const std::lock_guard lock(mutex);
  if (told_ != nullptr) return;  // that thread goes on, or a callback has raised it
  while (!kept_.empty()) {
    is_due_ = false;
    const EventInstance instance = std::move(kept_.front());
    kept_.pop_front();
    told_ = &instance;
    for (const ToolHandle handle : instance.listening) deliver(handle, instance);
    told_ = nullptr;
  }
  if (std::exchange(is_hooked_, false)) progress_->remove(&hook_);
}

void Tool::deliver(ToolHandle handle, const EventInstance& instance) {
  Registration* registration = registrations.find(handle);
  if (registration == nullptr || !registration->listens()) return;  // freed by an earlier callback
  EventCallback chosen;
  for (int index = safety_index(static_cast<int>(kRequired)); index < kSafeties; ++index) {
    chosen = registration->callbacks[index];
    if (chosen.function != nullptr) break;
  }
  if (chosen.function == nullptr) ++registration->dropped;
  ++registration->calls;
  tell_dropped(handle, registration);
  if (chosen.function != nullptr) {
    const FreeForOthers free(mutex);
    callbacks->event(chosen.function, instance.handle, handle, kRequired, chosen.user_data);
  }
  registration = registrations.find(handle);  // callbacks may have made others: the table may have moved
  if (registration == nullptr) return;        // MPI_T_finalize
  if (--registration->calls == 0 && registration->freed) free_registration(handle, kRequired);
}

/// The registration may be gone, or elsewhere, behind it.
void Tool::tell_dropped(ToolHandle handle, Registration* registration) {
  const Count dropped = std::exchange(registration->dropped, 0);
  const AnyFunction function = registration->dropped_function;
  void* const user_data = registration->callbacks[0].user_data;
  if (dropped == 0 || function == nullptr) return;
  const FreeForOthers free(mutex);
  callbacks->dropped(function, dropped, handle, kClockSource, kRequired, user_data);
}

const EventInstance* Tool::find_instance(ToolHandle handle) const {
  return told_ != nullptr && told_->handle == handle ? told_ : nullptr;
}

std::uint32_t Tool::wanted_events() {
  std::uint32_t wanted = 0;
  registrations.for_each([&](ToolHandle, const Registration& registration) {
    if (registration.listens()) wanted |= 1U << static_cast<int>(registration.event);
  });
  return wanted;
}

void Tool::free_registration(ToolHandle handle, Safety safety) {
  const Registration& registration = *registrations.find(handle);
  const AnyFunction function = registration.free_function;
  void* user_data = registration.free_data;
  if (function != nullptr) {
    const FreeForOthers free(mutex);
    callbacks->freed(function, handle, safety, user_data);
  }
  if (registrations.find(handle) != nullptr) registrations.free(handle);
}

namespace api {
namespace {

void start_listening(Process& process) {
  process.events.listener = process.tool;
  __atomic_store_n(&process.events.wanted, process.tool->wanted_events(), __ATOMIC_RELAXED);
}

/// We know no hints about events, so the info of those in use is always empty.
void give_no_hints(Info** info) {
  if (info != nullptr) *info = new Info;
}

}  // namespace

Code t_source_get_num(Process&, int* num_sources) {
  *num_sources = 1;
  return kSuccess;
}

Code t_source_get_info(Process&, int source_index, std::string* name, std::string* desc, int* ordering,
                       Count* ticks_per_second, Count* max_ticks, Info** info) {
  constexpr int kOrdered = 1;  // MPI_T_SOURCE_ORDERED
  if (source_index != kClockSource) return kTErrInvalidIndex;
  *name = "clock";
  *desc = "the clock of MPI_Wtime, in nanoseconds";
  *ordering = kOrdered;
  *ticks_per_second = kTicksPerSecond;
  *max_ticks = INT64_MAX;
  give_no_hints(info);
  return kSuccess;
}

Code t_source_get_timestamp(Process&, int source_index, Count* timestamp) {
  if (source_index != kClockSource) return kTErrInvalidIndex;
  *timestamp = clock_ns();
  return kSuccess;
}

Code t_event_get_num(Process&, int* num_events) {
  *num_events = kEvents;
  return kSuccess;
}

Code t_event_get_info(Process& process, int event_index, std::string* name, int* verbosity,
                      Datatype** array_of_datatypes, Aint* array_of_displacements, int* num_elements,
                      ToolHandle* enumtype, Info** info, std::string* desc, int* bind) {
  const EventRow* row = event_row_at(event_index);
  if (row == nullptr) return kTErrInvalidIndex;
  *name = row->name;
  *verbosity = static_cast<int>(row->verbosity);
  for (int element = 0; element < std::min(*num_elements, row->element_count()); ++element) {
    if (array_of_datatypes != nullptr)
      array_of_datatypes[element] = predefined_object<Datatype>(*process.objects, kMpiInt64T);
    if (array_of_displacements != nullptr)
      array_of_displacements[element] = static_cast<Aint>(sizeof(std::int64_t)) * element;
  }
  *num_elements = row->element_count();
  *enumtype = enum_handle(*process.tool, row->elements);
  give_no_hints(info);
  *desc = row->description;
  *bind = static_cast<int>(Bind::kNoObject);
  return kSuccess;
}

Code t_event_get_index(Process&, const char* name, int* event_index) {
  int index = 0;
  for (const EventRow& row : event_table()) {
    if (std::strcmp(name, row.name) == 0) {
      *event_index = index;
      return kSuccess;
    }
    ++index;
  }
  return kTErrInvalidName;
}

Code t_event_handle_alloc(Process& process, int event_index, Info*, ToolHandle* event_registration) {
  if (event_row_at(event_index) == nullptr) return kTErrInvalidIndex;
  *event_registration = process.tool->registrations.make({.event = static_cast<Event>(event_index)});
  return *event_registration != kNoToolHandle ? kSuccess : kTErrOutOfHandles;
}

Code t_event_handle_set_info(Process& process, ToolHandle event_registration, Info*) {
  return find(process, event_registration) != nullptr ? kSuccess : kTErrInvalidHandle;
}

Code t_event_handle_get_info(Process& process, ToolHandle event_registration, Info** info_used) {
  if (find(process, event_registration) == nullptr) return kTErrInvalidHandle;
  give_no_hints(info_used);
  return kSuccess;
}

Code t_event_register_callback(Process& process, ToolHandle event_registration, int cb_safety, Info*,
                               void* user_data, AnyFunction event_cb_function) {
  Registration* registration = find(process, event_registration);
  if (registration == nullptr) return kTErrInvalidHandle;
  const int index = safety_index(cb_safety);
  if (index < 0) return kTErrInvalid;
  registration->callbacks[index] = {event_cb_function, user_data};
  start_listening(process);
  return kSuccess;
}

Code t_event_callback_set_info(Process& process, ToolHandle event_registration, int cb_safety, Info*) {
  if (find(process, event_registration) == nullptr) return kTErrInvalidHandle;
  return safety_index(cb_safety) >= 0 ? kSuccess : kTErrInvalid;
}

Code t_event_callback_get_info(Process& process, ToolHandle event_registration, int cb_safety,
                               Info** info_used) {
  if (find(process, event_registration) == nullptr) return kTErrInvalidHandle;
  if (safety_index(cb_safety) < 0) return kTErrInvalid;
  give_no_hints(info_used);
  return kSuccess;
}

Code t_event_handle_free(Process& process, ToolHandle event_registration, void* user_data,
                         AnyFunction free_cb_function) {
  Registration* registration = find(process, event_registration);
  if (registration == nullptr) return kTErrInvalidHandle;
  registration->freed = true;
  registration->free_function = free_cb_function;
  registration->free_data = user_data;
  start_listening(process);
  if (registration->calls == 0) process.tool->free_registration(event_registration, Safety::kNone);
  return kSuccess;
}

Code t_event_set_dropped_handler(Process& process, ToolHandle event_registration,
                                 AnyFunction dropped_cb_function) {
  Registration* registration = find(process, event_registration);
  if (registration == nullptr) return kTErrInvalidHandle;
  registration->dropped_function = dropped_cb_function;
  return kSuccess;
}

Code t_event_read(Process& process, ToolHandle event_instance, int element_index, void* buffer) {
  const EventInstance* instance = process.tool->find_instance(event_instance);
  if (instance == nullptr) return kTErrInvalidHandle;
  if (element_index < 0 || element_index >= event_row_at(static_cast<int>(instance->event))->element_count())
    return kTErrInvalidIndex;
  std::memcpy(buffer, &instance->elements[static_cast<std::size_t>(element_index)], sizeof(std::int64_t));
  return kSuccess;
}

Code t_event_copy(Process& process, ToolHandle event_instance, void* buffer) {
  const EventInstance* instance = process.tool->find_instance(event_instance);
  if (instance == nullptr) return kTErrInvalidHandle;
  const int elements = event_row_at(static_cast<int>(instance->event))->element_count();
  std::memcpy(buffer, instance->elements.data(), sizeof(std::int64_t) * static_cast<std::size_t>(elements));
  return kSuccess;
}

Code t_event_get_timestamp(Process& process, ToolHandle event_instance, Count* event_timestamp) {
  const EventInstance* instance = process.tool->find_instance(event_instance);
  if (instance == nullptr) return kTErrInvalidHandle;
  *event_timestamp = instance->timestamp_ns;
  return kSuccess;
}

Code t_event_get_source(Process& process, ToolHandle event_instance, int* source_index) {
  if (process.tool->find_instance(event_instance) == nullptr) return kTErrInvalidHandle;
  *source_index = kClockSource;
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
