// Unlocked: the process lock let go for a scope, by a blocking call that knows no Progress and only copies or
// reduces much: MPI_Pack, MPI_Reduce_local. It is Progress::Release without the polls: such a call is never
// amid one. docs/threads.md has the rules.
#pragma once

#include <cstdint>

#include "base/calls/call_board.hpp"
#include "base/process.hpp"

namespace tasuki {

class Unlocked {
 public:
  /// `bytes`: how much is to be copied; a little is not worth it. Where calls hold no lock it does nothing.
  Unlocked(Process& process, std::int64_t bytes)
      : process_(process.locking && bytes >= kBytesMin ? &process : nullptr) {
    if (process_ == nullptr) return;
    line_ = values_of(process.line);
    error_owner_ = process.error_owner;
    process.lock.unlock();
  }
  ~Unlocked() {
    if (process_ == nullptr) return;
    process_->lock.lock();
    put_back(line_, &process_->line);
    process_->error_owner = error_owner_;
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  static constexpr std::int64_t kBytesMin = 32 << 10;

  Process* process_;
  LineValues line_;  // this and the next: another call's meanwhile
  ErrorOwner* error_owner_ = nullptr;
};

}  // namespace tasuki
