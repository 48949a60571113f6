// LockQueue: the locks that one rank, their owner, keeps for other ranks, where these share no memory: which
// requests hold their lock, and which wait. A lock is on a range of a resource (bytes of a file), or on all
// of it (a rank's part of a window). The owner sends the answers.
//
// The locks are fair: requests that conflict are served in the order in which they came, and shared requests
// that follow each other hold their range together. So neither shared nor exclusive requests starve.
//
// Thread safety: none, it belongs to one rank.
//
// Invariant: a request holds its range if no earlier one that is still here conflicts with it; else it waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace tasuki {

class LockQueue {
 public:
  struct Request {
    int rank;                    // that wants the lock
    std::uint64_t ticket = 0;    // the rank's number of this request
    std::uint64_t resource = 0;  // ranges of different ones never conflict
    Offset begin = 0;            // [begin, end) of it
    Offset end = 1;
    bool exclusive = false;
    bool holds = false;
  };

  /// Adds a request behind all others. Returns whether it holds its range at once.
  bool add(const Request& request);

  /// Takes a request out and adds those that hold their range from now on to `granted`. Returns false where
  /// there is no such request, or where it waits still.
  bool remove(int rank, std::uint64_t ticket, std::vector<Request>* granted);

  /// The request that holds its range or waits for it, or null.
  const Request* find(int rank, std::uint64_t ticket) const;

  /// The ranks whose requests have to be removed before this one holds its range; none where it waits for
  /// nothing.
  std::vector<int> ahead_of(int rank, std::uint64_t ticket) const;

  bool empty() const { return requests_.empty(); }

 private:
  bool is_kept_waiting(std::size_t place) const;

  std::vector<Request> requests_;  // in the order in which they came
};

}  // namespace tasuki
