// Epoch: the rules.
#include "rma/epoch.hpp"

#include <utility>

namespace tasuki::rma {
namespace {

constexpr const char* kFenceOpen =
    "the epoch that MPI_Win_fence began has accesses, expected MPI_Win_fence to complete them first";
constexpr const char* kStartOpen =
    "an access epoch begun by MPI_Win_start is open, expected MPI_Win_complete first";
constexpr const char* kLockOpen = "an epoch begun by MPI_Win_lock is open, expected MPI_Win_unlock first";
constexpr const char* kLockAllOpen =
    "an epoch begun by MPI_Win_lock_all is open, expected MPI_Win_unlock_all first";
constexpr const char* kPostOpen =
    "an exposure epoch begun by MPI_Win_post is open, expected MPI_Win_wait or MPI_Win_test first";

}  // namespace

const char* Epoch::may_access(int target) const {
  const Target& one = targets_[static_cast<std::size_t>(target)];
  switch (access_) {
    case Access::kFence:
    case Access::kLockAll:
      return nullptr;
    case Access::kStart:
      return one.started ? nullptr : "target_rank is not in the group that MPI_Win_start was given";
    case Access::kLock:
      return one.held != Held::kNot ? nullptr : "target_rank is not locked, expected MPI_Win_lock first";
    case Access::kNone:
      break;
  }
  return "no access epoch is open, expected MPI_Win_fence, MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all "
         "first";
}

const char* Epoch::may_access_by_request(int target) const {
  if (access_ == Access::kFence || access_ == Access::kStart)
    return "the epoch is one of active target synchronization, expected MPI_Win_lock or MPI_Win_lock_all for "
           "an operation with a request";
  return may_access(target);
}

const char* Epoch::may_fence() const {
  if (access_ == Access::kStart) return kStartOpen;
  if (access_ == Access::kLock) return kLockOpen;
  if (access_ == Access::kLockAll) return kLockAllOpen;
  return exposed_ ? kPostOpen : nullptr;
}

const char* Epoch::may_begin() const {
  if (access_ == Access::kFence && used_) return kFenceOpen;
  if (access_ == Access::kStart) return kStartOpen;
  return access_ == Access::kLockAll ? kLockAllOpen : nullptr;
}

const char* Epoch::may_start() const {
  return access_ == Access::kLock ? kLockOpen : may_begin();
}

const char* Epoch::may_complete() const {
  return access_ == Access::kStart ? nullptr : "no access epoch is open that MPI_Win_start began";
}

const char* Epoch::may_post() const {
  if (access_ == Access::kFence && used_) return kFenceOpen;
  return exposed_ ? kPostOpen : nullptr;
}

const char* Epoch::may_wait() const {
  return exposed_ ? nullptr : "no exposure epoch is open that MPI_Win_post began";
}

const char* Epoch::may_lock(int target) const {
  if (const char* wrong = may_begin()) return wrong;
  return held(target) == Held::kNot ? nullptr : "the rank is locked already, expected MPI_Win_unlock first";
}

const char* Epoch::may_unlock(int target) const {
  return access_ == Access::kLock && held(target) != Held::kNot ? nullptr : "the rank is not locked";
}

const char* Epoch::may_lock_all() const {
  return access_ == Access::kLock ? kLockOpen : may_begin();
}

const char* Epoch::may_unlock_all() const {
  return access_ == Access::kLockAll ? nullptr : "no epoch is open that MPI_Win_lock_all began";
}

const char* Epoch::may_flush(int target) const {
  if (access_ == Access::kLockAll) return nullptr;
  if (access_ != Access::kLock) return may_flush_all();
  return held(target) != Held::kNot ? nullptr : "the rank is not locked, expected MPI_Win_lock first";
}

const char* Epoch::may_flush_all() const {
  return access_ == Access::kLock || access_ == Access::kLockAll
             ? nullptr
             : "no passive target epoch is open, expected MPI_Win_lock or MPI_Win_lock_all first";
}

const char* Epoch::may_free() const {
  return may_fence();  // the end of the window completes what a fence would have
}

void Epoch::fenced(bool succeeds) {
  access_ = succeeds ? Access::kFence : Access::kNone;
  used_ = false;
}

void Epoch::started(std::vector<int> targets) {
  access_ = Access::kStart;
  started_ = std::move(targets);
  for (const int target : started_) targets_[static_cast<std::size_t>(target)].started = true;
}

void Epoch::completed() {
  access_ = Access::kNone;
  for (const int target : started_) targets_[static_cast<std::size_t>(target)].started = false;
  started_.clear();
}

void Epoch::posted(std::vector<int> origins) {
  if (access_ == Access::kFence) access_ = Access::kNone;
  exposed_ = true;
  posted_ = std::move(origins);
}

void Epoch::waited() {
  exposed_ = false;
  posted_.clear();
}

void Epoch::locked(int target, Held how) {
  access_ = Access::kLock;
  targets_[static_cast<std::size_t>(target)].held = how;
  ++locks_held_;
}

void Epoch::unlocked(int target) {
  targets_[static_cast<std::size_t>(target)].held = Held::kNot;
  if (--locks_held_ == 0) access_ = Access::kNone;
}

void Epoch::locked_all(Held how) {
  access_ = Access::kLockAll;
  held_all_ = how;
}

void Epoch::unlocked_all() {
  access_ = Access::kNone;
  held_all_ = Held::kNot;
}

}  // namespace tasuki::rma
