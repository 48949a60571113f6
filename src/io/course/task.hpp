// Task: a part of an access to a file, written as one function that may wait in the middle (a coroutine).
// Such a function says `co_await` where it may have to wait, and its caller says how it waits: in the
// call, or not at all, to be gone on with when what it waits for has come (io/course/course.hpp). So the
// blocking and the nonblocking form of an access are one function.
//
// What a Task is given by reference outlives it: its caller waits for it, or keeps it all.
//
// Ownership: a Task owns its function's frame, with all that is in it. Thread safety: the process lock.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "base/types.hpp"

namespace tasuki {

class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct promise_type {
    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(Code code) { result = code; }
    void unhandled_exception() { std::terminate(); }

    Handle caller;  // that waits for it; none at first, and of the outermost
    Code result = kSuccess;
  };

  Task() = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  /// Runs it until it is over or waits. Returns whether it is over.
  bool begin() {
    handle_.resume();
    return handle_.done();
  }
  /// REQUIRES: it is over.
  Code result() const { return handle_.promise().result; }

  // As a part of another one, which gets its result.
  bool await_ready() { return begin(); }
  void await_suspend(Handle caller) { handle_.promise().caller = caller; }
  Code await_resume() const { return result(); }

 private:
  explicit Task(Handle handle) : handle_(handle) {}

  Handle handle_;
};

}  // namespace tasuki
