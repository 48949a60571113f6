// LockQueue: the lock of one rank's part of a window, and the ranks that want it, as the part's owner keeps
// them where the ranks of a window share no memory (served_control.hpp).
//
// The lock is fair: it is granted in the order of the requests, and readers that follow each other hold it
// together. So neither readers nor writers starve.
//
// Thread safety: none, it belongs to one rank.
//
// Invariants:
//  1. A rank is in the queue or holds the lock at most once.
//  2. The lock is held by one writer alone, or by any number of readers.
#pragma once

#include <deque>
#include <vector>

namespace tasuki::rma {

class LockQueue {
 public:
  /// `origin` wants the lock. Returns false, having done nothing, where it holds the lock or waits for it.
  bool request(int origin, bool exclusive);

  /// `origin` gives the lock back. Returns false where it does not hold it.
  bool release(int origin);

  /// Gives the lock to the first of the queue, if it may have it now. Returns that rank, or -1.
  int grant_next();

  /// The ranks that have to give the lock back before `origin` gets it; none where it does not wait.
  std::vector<int> ahead_of(int origin) const;

  bool is_waiting(int origin) const;

 private:
  struct Entry {
    int origin;
    bool exclusive;
  };
  bool may_enter(bool exclusive) const {
    return holders_.empty() || (!exclusive && !holders_.front().exclusive);
  }

  std::vector<Entry> holders_;
  std::deque<Entry> waiting_;  // the next one first
};

}  // namespace tasuki::rma
