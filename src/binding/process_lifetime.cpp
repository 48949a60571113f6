// Makes the one Process, and hands it from user to user.
#include "binding/process_lifetime.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/variables/settings.hpp"
#include "binding/call/call.hpp"
#include "binding/call/callbacks.hpp"
#include "environment/environment.hpp"
#include "environment/progress_thread.hpp"
#include "job/start/make_starter.hpp"
#include "object/objects.hpp"
#include "tool/tool.hpp"

namespace tasuki {
namespace {

AbiCallbacks callbacks;

/// Made by the first user and never destroyed: other ranks may still use its memory when this one is done,
/// and new sessions may begin until the program ends.
struct Owned {
  std::unique_ptr<Starter> starter;
  std::unique_ptr<Process> process;
};
Owned* owned = nullptr;
int users = 0;
ProgressThread* progress_thread = nullptr;  // of the users of now; never unmade when the program just ends

/// The user's error classes and codes outlive each use of the Process.
void hand_on_user_errors(Process& from, Process& to) {
  to.objects->user_errors = std::move(from.objects->user_errors);
  from.objects->user_errors.clear();
  to.objects->attributes.lastusedcode = from.objects->attributes.lastusedcode;
}

/// Shows the starting call on the rank's line. A Call cannot: it needs the Process that is being made.
void show_beginning(const Beginning& beginning, CallLine& line) {
  line.site.store(reinterpret_cast<std::uint64_t>(beginning.site), std::memory_order_relaxed);
  line.word.store(next_call(0, beginning.function), std::memory_order_relaxed);
}

void show_end(CallLine& line) {
  line.word.store(line.word.load(std::memory_order_relaxed) & ~kInside, std::memory_order_relaxed);
}

bool make_owned(ThreadLevel level, const Beginning& beginning, std::string* error) {
  auto made = std::make_unique<Owned>();
  made->starter = make_starter(error);
  if (made->starter == nullptr) return false;
  show_beginning(beginning, made->starter->node().call_board().line);
  made->starter->launcher().publish_program();
  Config config;
  std::string warning;
  if (!read_settings(environ, &config, error, &warning)) made->starter->launcher().abort(1, *error);
  if (!warning.empty() && made->starter->directory().rank() == 0)
    std::fprintf(stderr, "tasuki: %s\n", warning.c_str());
  take_written_settings(outside(), &config);
  made->process = make_process(*made->starter, config, level);
  made->process->callbacks = &callbacks;
  show_end(made->process->line);
  owned = made.release();
  return true;
}

}  // namespace

std::mutex& lifetime_mutex() {
  static std::mutex mutex;
  return mutex;
}

bool begin_use(ThreadLevel level, bool locking, const Beginning& beginning, std::string* error) {
  outside().callbacks = &callbacks;
  if (owned == nullptr && !make_owned(level, beginning, error)) return false;
  if (users++ == 0) {
    Process& process = *owned->process;
    const bool has_thread = ProgressThread::is_wanted(process);
    locking = locking || has_thread;
    set_thread_level(process, level, locking);
    hand_on_user_errors(outside(), process);
    hand_on_tool(outside(), process);
    process.tool->tell_later(locking ? &process : nullptr);
    binding.process = &process;
    binding.locking = locking;
    binding.notes_origins = process.config.check >= 3;
    const std::int64_t handles_max = process.config.handles_max;
    binding.handles.set_limit(handles_max != 0 ? static_cast<std::uint32_t>(handles_max)
                                               : HandleTable::kLimitMax);
    // It is in a call for as long as it lives: a tool's functions that it runs find the lock held.
    if (has_thread) progress_thread = new ProgressThread(process, [] { call_depth = 1; });
  }
  return true;
}

ThreadLevel granted(ThreadLevel level) {
  return binding.locking ? level : std::min(level, binding.process->thread_level);
}

bool is_last_user() {
  return users == 1;
}

void end_use() {
  if (--users != 0) return;
  delete std::exchange(progress_thread, nullptr);
  hand_on_user_errors(*binding.process, outside());
  binding.process->tool->tell_later(nullptr);
  hand_on_tool(*binding.process, outside());
  binding.process->counters = {};  // they come back with the next user
  binding.process = nullptr;
  binding.locking = false;
  binding.notes_origins = false;
}

}  // namespace tasuki
