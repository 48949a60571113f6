// Unlocked: the process lock let go for a scope, so that the rank's other threads go on. It keeps what a call
// has where other calls write theirs. Parts that know Progress use Progress::Release, which keeps a poll
// besides; a blocking call of an object (MPI_Pack, MPI_Reduce_local) is never amid one. docs/threads.md has
// the rules.
#pragma once

#include <cstdint>

#include "base/calls/call_board.hpp"
#include "base/process.hpp"

namespace tasuki {

/// Where the call that runs has what the next one overwrites.
struct PresentCall {
  CallLine* line = nullptr;
  ErrorOwner** error_owner = nullptr;
};

class Unlocked {
 public:
  static constexpr std::int64_t kBytesMin = 32 << 10;

  /// `lock`: null, if it is not held: then nothing is done.
  Unlocked(ProcessLock* lock, const PresentCall& call) : lock_(lock), call_(call) {
    if (lock_ == nullptr) [[likely]]
      return;
    step_out();
  }
  /// `bytes`: how much is to be copied; a little is not worth it. Where calls hold no lock it does nothing.
  Unlocked(Process& process, std::int64_t bytes)
      : Unlocked(process.locking && bytes >= kBytesMin ? &process.lock : nullptr,
                 {&process.line, &process.error_owner}) {}
  ~Unlocked() {
    if (lock_ != nullptr) [[unlikely]]
      step_in();
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  void step_out();
  void step_in();

  ProcessLock* const lock_;
  const PresentCall call_;
  LineValues line_;  // this and the next: set where the lock was let go
  ErrorOwner* error_owner_;
};

}  // namespace tasuki
