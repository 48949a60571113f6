// RangeQueue: the locks on ranges of files that an owner keeps for other ranks: which requests hold their
// range, and which wait. Requests for ranges of one file that conflict are served in the order in which they
// came. Pure: who waits is told by its caller.
//
// Invariant: a request holds its range if no earlier one that is still here conflicts with it; else it waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/view/ranges.hpp"

namespace tasuki {

class RangeQueue {
 public:
  struct Request {
    int rank;              // who asks
    std::uint64_t ticket;  // its number of the request
    std::uint64_t file;    // ranges of different files never conflict
    FileRange range;
    bool exclusive;
    bool holds = false;
  };

  /// Adds a request behind all others. Returns whether it holds its range at once.
  bool add(const Request& request);

  /// Takes a request out and adds those that hold their range from now on to `granted`. Returns false where
  /// there is no such request, or where it waits still.
  bool remove(int rank, std::uint64_t ticket, std::vector<Request>* granted);

  bool empty() const { return requests_.empty(); }

 private:
  bool is_kept_waiting(std::size_t place) const;

  std::vector<Request> requests_;  // in the order in which they came
};

}  // namespace tasuki
