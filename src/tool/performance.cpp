// Performance variables (MPI 15.3.7): the counters of base/variables/counters.hpp, seen by handles in
// sessions.
//
// Counts, aggregates, timers and watermarks are not continuous: a handle shows what came between its starts
// and stops, so it can be written, reset, and read and reset at once. Levels, sizes, states and percentages
// show what is: they are continuous and read-only.
#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "object/objects.hpp"
#include "tool/api.hpp"
#include "tool/tool.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kHighest = offsetof(Level, highest);

const CounterRow& row_of(const PerformanceHandle& handle) {
  return counter_table()[static_cast<std::size_t>(handle.counter)];
}

const CounterRow* counter_row_at(int index) {
  const auto rows = counter_table();
  return index >= 0 && static_cast<std::size_t>(index) < rows.size() ? &rows[static_cast<std::size_t>(index)]
                                                                     : nullptr;
}

bool is_continuous(const CounterRow& row) {
  return row.kind == CounterClass::kLevel || row.kind == CounterClass::kSize ||
         row.kind == CounterClass::kState || row.kind == CounterClass::kPercentage;
}

/// What counts as 0..2^64-1 now: of a communicator, 0..2^32-1.
std::uint64_t raw_value(Process& process, const PerformanceHandle& handle) {
  if (row_of(handle).bind == Bind::kComm)
    return handle.comm ? handle.comm->collectives_started() : handle.base;
  return read_counter(process.counters, row_of(handle).offset);
}

std::uint64_t since(const PerformanceHandle& handle, std::uint64_t raw) {
  const std::uint64_t difference = raw - handle.base;
  return row_of(handle).bind == Bind::kComm ? static_cast<std::uint32_t>(difference) : difference;
}

/// Brings handle.total up to date.
void settle(Process& process, PerformanceHandle& handle) {
  if (!handle.started) return;
  if (row_of(handle).kind == CounterClass::kHighWatermark) {
    process.tool->fold_watermarks(process, row_of(handle).offset);
    return;
  }
  const std::uint64_t raw = raw_value(process, handle);
  handle.total += since(handle, raw);
  handle.base = raw;
}

void set_total(Process& process, PerformanceHandle& handle, std::uint64_t total) {
  settle(process, handle);
  handle.total = total;
  handle.has_value = true;
}

void start(Process& process, PerformanceHandle& handle) {
  if (handle.started) return;
  const std::uint64_t raw = raw_value(process, handle);
  if (row_of(handle).kind == CounterClass::kHighWatermark) {
    process.tool->fold_watermarks(process, row_of(handle).offset);
    handle.total = handle.has_value ? std::max(handle.total, raw) : raw;
    handle.has_value = true;
  }
  handle.base = raw;
  handle.started = true;
}

void stop(Process& process, PerformanceHandle& handle) {
  settle(process, handle);
  handle.started = false;
}

/// To the starting value (MPI 15.3.7): of a watermark the level as it is now.
void reset(Process& process, PerformanceHandle& handle) {
  const bool is_watermark = row_of(handle).kind == CounterClass::kHighWatermark;
  set_total(process, handle, is_watermark ? raw_value(process, handle) : 0);
}

template <class Number>
void store(void* buf, Number number) {
  std::memcpy(buf, &number, sizeof number);
}

template <class Number>
Number load(const void* buf) {
  Number number;
  std::memcpy(&number, buf, sizeof number);
  return number;
}

void read_handle(Process& process, PerformanceHandle& handle, void* buf) {
  const CounterRow& row = row_of(handle);
  settle(process, handle);
  switch (row.kind) {
    case CounterClass::kState:
      return store(buf, static_cast<int>(raw_value(process, handle)));
    case CounterClass::kPercentage: {
      const std::uint64_t whole = read_counter(process.counters, row.offset_of_whole);
      const auto part = static_cast<double>(raw_value(process, handle));
      return store(buf, whole == 0 ? 0.0 : part / static_cast<double>(whole));
    }
    case CounterClass::kTimer:
      return store(buf, static_cast<double>(handle.total) * 1e-9);
    default:
      return store(
          buf, static_cast<unsigned long>(is_continuous(row) ? raw_value(process, handle) : handle.total));
  }
}

Predefined type_of(const CounterRow& row) {
  if (row.kind == CounterClass::kState) return kMpiInt;
  const bool is_real = row.kind == CounterClass::kTimer || row.kind == CounterClass::kPercentage;
  return is_real ? kMpiDouble : kMpiUnsignedLong;
}

/// The handle of that session; null, with the error, when there is none.
PerformanceHandle* find(Process& process, ToolHandle session, ToolHandle handle, Code* code) {
  *code = kTErrInvalidSession;
  if (process.tool->sessions.find(session) == nullptr) return nullptr;
  *code = kTErrInvalidHandle;
  PerformanceHandle* found = process.tool->performances.find(handle);
  return found != nullptr && found->session == session ? found : nullptr;
}

/// Does `act(handle)` to all handles of the session that `allowed(row)`.
template <class Allowed, class Act>
Code for_all(Process& process, ToolHandle session, Allowed&& allowed, Act&& act) {
  if (process.tool->sessions.find(session) == nullptr) return kTErrInvalidSession;
  process.tool->performances.for_each([&](ToolHandle, PerformanceHandle& handle) {
    if (handle.session == session && allowed(row_of(handle))) act(handle);
  });
  return kSuccess;
}

/// Does it to one handle, or to all of the session's for which it is possible.
template <class Act>
Code for_one_or_all(Process& process, ToolHandle session, ToolHandle handle, ErrorClass refusal, Act&& act) {
  if (handle == kAllHandles) {
    return for_all(
        process, session, [](const CounterRow& row) { return !is_continuous(row); }, act);
  }
  Code code;
  PerformanceHandle* one = find(process, session, handle, &code);
  if (one == nullptr) return code;
  if (is_continuous(row_of(*one))) return refusal;
  act(*one);
  return kSuccess;
}

}  // namespace

Bind performance_bind(int index) {
  const CounterRow* row = counter_row_at(index);
  return row != nullptr ? row->bind : Bind::kNoObject;
}

void Tool::fold_watermarks(Process& process, std::size_t level_offset) {
  const std::uint64_t highest = read_counter(process.counters, level_offset + kHighest);
  performances.for_each([&](ToolHandle, PerformanceHandle& handle) {
    const CounterRow& row = row_of(handle);
    if (row.kind != CounterClass::kHighWatermark || row.offset != level_offset || !handle.started) return;
    handle.total = std::max(handle.total, highest);
  });
  counter_at(process.counters, level_offset + kHighest) = read_counter(process.counters, level_offset);
}

void Tool::release_communicators() {
  performances.for_each([&](ToolHandle, PerformanceHandle& handle) {
    if (!handle.comm) return;
    settle(handle.comm->process, handle);
    handle.comm = {};
  });
}

namespace api {

Code t_pvar_get_num(Process&, int* num_pvar) {
  *num_pvar = static_cast<int>(counter_table().size());
  return kSuccess;
}

Code t_pvar_get_info(Process& process, int pvar_index, std::string* name, int* verbosity, int* var_class,
                     Datatype** datatype, ToolHandle* enumtype, std::string* desc, int* bind, int* readonly,
                     int* continuous, int* atomic) {
  const CounterRow* row = counter_row_at(pvar_index);
  if (row == nullptr) return kTErrInvalidIndex;
  *name = row->name;
  *verbosity = static_cast<int>(row->verbosity);
  *var_class = static_cast<int>(row->kind);
  *datatype = predefined_object<Datatype>(*process.objects, type_of(*row));
  *enumtype = enum_handle(*process.tool, row->states);
  *desc = row->description;
  *bind = static_cast<int>(row->bind);
  *readonly = *continuous = is_continuous(*row);
  *atomic = !is_continuous(*row);
  return kSuccess;
}

Code t_pvar_get_index(Process&, const char* name, int var_class, int* pvar_index) {
  const std::string present = present_counter(name);
  int index = 0;
  for (const CounterRow& row : counter_table()) {
    if (present == row.name && static_cast<int>(row.kind) == var_class) {
      *pvar_index = index;
      return kSuccess;
    }
    ++index;
  }
  return kTErrInvalidName;
}

Code t_pvar_session_create(Process& process, ToolHandle* pe_session) {
  *pe_session = process.tool->sessions.make({});
  return *pe_session != kNoToolHandle ? kSuccess : kTErrOutOfSessions;
}

Code t_pvar_session_free(Process& process, ToolHandle* pe_session) {
  Tool& tool = *process.tool;
  if (tool.sessions.find(*pe_session) == nullptr) return kTErrInvalidSession;
  tool.performances.for_each([&](ToolHandle handle, PerformanceHandle& one) {
    if (one.session == *pe_session) tool.performances.free(handle);
  });
  tool.sessions.free(*pe_session);
  *pe_session = kNoToolHandle;
  return kSuccess;
}

Code t_pvar_handle_alloc(Process& process, ToolHandle pe_session, int pvar_index, Comm* obj_handle,
                         ToolHandle* handle, int* count) {
  Tool& tool = *process.tool;
  if (tool.sessions.find(pe_session) == nullptr) return kTErrInvalidSession;
  const CounterRow* row = counter_row_at(pvar_index);
  if (row == nullptr) return kTErrInvalidIndex;
  const bool is_bound = row->bind == Bind::kComm;
  if (is_bound && obj_handle == nullptr) return kTErrInvalidHandle;
  PerformanceHandle made{.counter = pvar_index, .session = pe_session};
  if (is_bound) made.comm = Ref<Comm>::share(obj_handle);
  *handle = tool.performances.make(std::move(made));
  *count = 1;
  return *handle != kNoToolHandle ? kSuccess : kTErrOutOfHandles;
}

Code t_pvar_handle_free(Process& process, ToolHandle pe_session, ToolHandle* handle) {
  Code code;
  if (find(process, pe_session, *handle, &code) == nullptr) return code;
  process.tool->performances.free(*handle);
  *handle = kNoToolHandle;
  return kSuccess;
}

Code t_pvar_start(Process& process, ToolHandle pe_session, ToolHandle handle) {
  return for_one_or_all(process, pe_session, handle, kTErrPvarNoStartstop,
                        [&](PerformanceHandle& one) { start(process, one); });
}

Code t_pvar_stop(Process& process, ToolHandle pe_session, ToolHandle handle) {
  return for_one_or_all(process, pe_session, handle, kTErrPvarNoStartstop,
                        [&](PerformanceHandle& one) { stop(process, one); });
}

Code t_pvar_read(Process& process, ToolHandle pe_session, ToolHandle handle, void* buf) {
  Code code;
  PerformanceHandle* one = find(process, pe_session, handle, &code);
  if (one == nullptr) return code;
  read_handle(process, *one, buf);
  return kSuccess;
}

Code t_pvar_write(Process& process, ToolHandle pe_session, ToolHandle handle, const void* buf) {
  Code code;
  PerformanceHandle* one = find(process, pe_session, handle, &code);
  if (one == nullptr) return code;
  const CounterRow& row = row_of(*one);
  if (is_continuous(row)) return kTErrPvarNoWrite;
  if (row.kind != CounterClass::kTimer) {
    set_total(process, *one, load<unsigned long>(buf));
    return kSuccess;
  }
  const auto seconds = load<double>(buf);
  if (!(seconds >= 0 && seconds < 1e9)) return kTErrInvalid;
  set_total(process, *one, static_cast<std::uint64_t>(seconds * 1e9));
  return kSuccess;
}

Code t_pvar_reset(Process& process, ToolHandle pe_session, ToolHandle handle) {
  return for_one_or_all(process, pe_session, handle, kTErrPvarNoWrite,
                        [&](PerformanceHandle& one) { reset(process, one); });
}

Code t_pvar_readreset(Process& process, ToolHandle pe_session, ToolHandle handle, void* buf) {
  Code code;
  PerformanceHandle* one = find(process, pe_session, handle, &code);
  if (one == nullptr) return code;
  if (is_continuous(row_of(*one))) return kTErrPvarNoAtomic;
  read_handle(process, *one, buf);
  reset(process, *one);
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
