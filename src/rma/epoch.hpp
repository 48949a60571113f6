// Epoch: which access and exposure epochs of a window are open at this rank, and so which calls are legal now
// (MPI 12.5). A state machine without effects: the calls ask it first, then act, then report to it.
//
// Each question gives null for "yes", or what is wrong, for the text of MPI_ERR_RMA_SYNC.
//
// A fence both closes and opens: after it, accesses are legal; but as long as there was none, the epoch
// counts as not begun, and any other one may begin instead (MPI 12.5.1).
#pragma once

#include <cstdint>
#include <vector>

namespace tasuki::rma {

enum class Access : std::uint8_t {
  kNone,
  kStart,
  kLock,
  kFence,
  kLockAll
};  // the last two are for all targets
enum class Held : std::uint8_t { kNot, kShared, kExclusive, kUnchecked };

class Epoch {
 public:
  explicit Epoch(int ranks) : targets_(static_cast<std::size_t>(ranks)) {}

  /// Implies that may_access() is null.
  bool is_open(int target) const {
    if (access_ >= Access::kFence) return true;
    const Target& one = targets_[static_cast<std::size_t>(target)];
    return one.held != Held::kNot || one.started;
  }

  /// Implies that may_access_by_request() is null.
  bool is_open_by_request(int target) const {
    return access_ == Access::kLockAll || (access_ == Access::kLock && held(target) != Held::kNot);
  }

  bool is_locked_all() const { return access_ == Access::kLockAll; }

  // --- questions ---
  const char* may_access(int target) const;
  const char* may_access_by_request(int target) const;
  const char* may_fence() const;
  const char* may_start() const;
  const char* may_complete() const;
  const char* may_post() const;
  const char* may_wait() const;
  const char* may_lock(int target) const;
  const char* may_unlock(int target) const;
  const char* may_lock_all() const;
  const char* may_unlock_all() const;
  const char* may_flush(int target) const;
  const char* may_flush_all() const;
  const char* may_free() const;

  // --- what happened ---
  void accessed() { used_ = true; }
  void fenced(bool succeeds);
  void started(std::vector<int> targets);
  void completed();
  void posted(std::vector<int> origins);
  void waited();
  void locked(int target, Held how);
  void unlocked(int target);
  void locked_all(Held how);
  void unlocked_all();

  // --- state ---
  Held held(int target) const { return targets_[static_cast<std::size_t>(target)].held; }
  Held held_all() const { return held_all_; }
  const std::vector<int>& started_targets() const { return started_; }
  const std::vector<int>& posted_origins() const { return posted_; }

 private:
  const char* may_begin() const;  // an access epoch other than a fence's

  struct Target {
    Held held = Held::kNot;
    bool started = false;
  };

  Access access_ = Access::kNone;
  bool used_ = false;     // accesses since the last fence
  bool exposed_ = false;  // by post
  int locks_held_ = 0;
  Held held_all_ = Held::kNot;
  std::vector<Target> targets_;
  std::vector<int> started_;
  std::vector<int> posted_;
};

}  // namespace tasuki::rma
