// InCallback: what surrounds a call of a user's function, of a tool's too.
#pragma once

#include <optional>

#include "base/calls/call_board.hpp"
#include "base/calls/unlocked.hpp"
#include "binding/call/call.hpp"
#include "progress/progress.hpp"

namespace tasuki {

/// Lives as long as a callback: notes where it began on the stack, lets go of the process lock, since the
/// user's function may wait for another thread that is about to call MPI, and clears what an inner callback
/// that never returned has left behind.
class InCallback {
 public:
  [[gnu::noinline]] InCallback()
      : line_(binding.process != nullptr ? &binding.process->line : nullptr), depth_(call_depth) {
    is_outermost_ = callback_frame == 0;
    if (is_outermost_) callback_frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (line_ != nullptr) values_ = values_of(*line_);
    if (depth_ == 0) return;
    if (binding.process == nullptr) {
      outside_.emplace(&outside().lock, PresentCall{});
    } else if (binding.process->progress != nullptr) {
      released_.emplace(*binding.process->progress);
    } else {
      return;
    }
    call_depth = 0;
  }
  ~InCallback() {
    if (is_outermost_) callback_frame = 0;
    released_.reset();
    outside_.reset();
    call_depth = depth_;
    const bool says_another = line_ != nullptr && function_of(*line_) != function_of(values_.word);
    if (says_another) put_back(values_, line_);
  }
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;

 private:
  CallLine* line_;
  int depth_;
  bool is_outermost_;
  LineValues values_{};
  std::optional<Progress::Release> released_;  // where calls hold the lock
  std::optional<Unlocked> outside_;            // where MPI does not run: a call of MPI_T holds that lock
};

}  // namespace tasuki
