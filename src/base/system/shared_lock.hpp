// SharedLock: a lock in memory that processes share, for what takes a few instructions; and the one policy
// for the holder of any such lock that does not give it back.
//
// The word of a lock says which process holds it. So a process that waits can ask whether the holder lives:
//   it lives    the wait goes on, however long: the holder has lost its processor, or is stopped, or a
//               debugger has it
//   it died     what the lock guards may be half written, and the lock stays held: the job ends with a
//               sentence that names the holder
// A word that names no process is damaged memory, and ends the job, too.
//
// A holder never waits for anything but another such lock. So whoever gives a lock back wakes nobody, and
// whoever waits looks again and again, after longer and longer pauses, without progress.
//
// Ownership: the locks lie in memory that their users share; all zero is free. Thread safety: any number of
// processes and threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace tasuki {

/// One of the processes that share locks, which are numbered 0 .. count - 1.
class LockUser {
 public:
  /// REQUIRES: 0 <= number < count.
  LockUser(int number, int count)
      : word_((static_cast<std::uint32_t>(number) + 1) * kSpread),
        count_(static_cast<std::uint32_t>(count)) {}
  LockUser(const LockUser&) = delete;
  LockUser& operator=(const LockUser&) = delete;
  virtual ~LockUser() = default;

  /// What the word of a lock is while this process holds it: a few bits that change make no holder of it.
  std::uint32_t word() const { return word_; }
  /// Which process the word of a lock that is held names; kNone: it is damaged.
  static constexpr int kNone = -1;
  int holder(std::uint32_t word) const {
    const std::uint32_t number = word * kUnspread - 1;
    return number < count_ ? static_cast<int>(number) : kNone;
  }

  /// Whether that process has ended for certain. False where this one cannot know.
  virtual bool has_died(int number) const = 0;
  /// Ends the job: that process holds a lock and has died.
  [[noreturn]] virtual void end_dead(int number) const = 0;
  /// Ends the job: `what` in shared memory is `value`, which none of them writes.
  [[noreturn]] virtual void end_damaged(const char* what, std::uint32_t value) const = 0;

 private:
  static constexpr std::uint32_t kSpread = 0x9e3779b1;  // odd, so that there is a factor that undoes it
  static constexpr std::uint32_t kUnspread = 0xe8b2f51;
  static_assert(kSpread * kUnspread == 1);
  const std::uint32_t word_;
  const std::uint32_t count_;
};

class SharedLock {
 public:
  void lock(const LockUser& user) {
    std::uint32_t free = 0;
    if (!word_.compare_exchange_strong(free, user.word(), std::memory_order_acquire,
                                       std::memory_order_relaxed)) [[unlikely]]
      lock_contended(user);
  }
  void unlock() { word_.store(0, std::memory_order_release); }

  /// Of a lock that one process alone takes, and others wait for: takes it by a plain store, which what
  /// follows is not ordered behind.
  void hold(const LockUser& user) { word_.store(user.word(), std::memory_order_relaxed); }
  /// Returns once nobody holds it, or has held it since the call.
  void wait_until_free(const LockUser& user) const;

 private:
  void lock_contended(const LockUser& user);

  std::atomic<std::uint32_t> word_;  // 0: free; else LockUser::word() of the holder
};

/// Holds a lock for a scope; none where it is null.
class SharedLockGuard {
 public:
  SharedLockGuard(SharedLock* lock, const LockUser* user) : lock_(lock) {
    if (lock_ != nullptr) lock_->lock(*user);
  }
  ~SharedLockGuard() {
    if (lock_ != nullptr) lock_->unlock();
  }
  SharedLockGuard(const SharedLockGuard&) = delete;
  SharedLockGuard& operator=(const SharedLockGuard&) = delete;

 private:
  SharedLock* const lock_;
};

}  // namespace tasuki
