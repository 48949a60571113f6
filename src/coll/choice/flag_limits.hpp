// Up to which size each collective runs straight over the flags (coll/shm/flag_collectives.hpp): as long as
// that is the cheapest of all algorithms. What it costs stands here too.
//
// Thread safety: the caller holds the process lock.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/choice/selector.hpp"
#include "coll/shm/flag_collectives.hpp"
#include "tuning/problem.hpp"

namespace tasuki {

/// The bytes that a member shows in the collective that `problem` describes: the member that shows most.
Count shown_bytes(const Problem& problem);

/// The predicted time of a flag-based collective, of any of these operations.
double flag_collective_ns(const Problem& problem, const Parameters& parameters, Count);

/// The limits of a communicator; `any`: what all its collectives have in common. It takes time.
FlagLimits flag_limits_for(const Problem& any, const Selector& selector);

/// Says what was chosen for a collective that is flag-based.
void explain_flag_collective(const Problem& any, FlagOperation operation, Count shown, Selector& selector);

/// Remembers the limits, for the communicators that all have `any` in common.
class FlagLimitsTable {
 public:
  /// By `price()`, once. The reference holds until the next call.
  template <class Price>
  const FlagLimits& find(const Problem& any, Price&& price) {
    for (const Limits& known : limits_) {
      if (known.any == any) return known.limits;
    }
    constexpr std::size_t kKnownMax = 64;
    if (limits_.size() == kKnownMax) limits_.clear();
    return limits_.emplace_back(Limits{any, price()}).limits;
  }
  void forget() { limits_.clear(); }

 private:
  struct Limits {
    Problem any;
    FlagLimits limits;
  };
  std::vector<Limits> limits_;
};

}  // namespace tasuki
