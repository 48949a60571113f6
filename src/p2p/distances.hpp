// Distances: how far from this rank the other ranks of its job compute. Each distance is found when the first
// large message needs it, and kept: programs bind themselves before they send.
//
// What decides is where a process may run. A process that is not bound, or whose binding is not known, is as
// far away as the processors of the machine are from each other. The distance of a rank that has not started
// yet is not kept.
//
// Thread safety: the process lock guards it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/distance.hpp"
#include "node/hardware.hpp"

namespace tasuki {

class Node;

class Distances {
 public:
  /// `size`: ranks of the job.
  Distances(const Node& node, int size);

  /// REQUIRES: `endpoint` is a rank of this job.
  Distance to(int endpoint) {
    const std::uint8_t known = known_[static_cast<std::size_t>(endpoint)];
    return known != kUnknown ? static_cast<Distance>(known) : find(endpoint);
  }

  /// Takes all ranks of this node to be that far away; given nothing: where they really are.
  void assume(std::optional<Distance> distance);

 private:
  static constexpr std::uint8_t kUnknown = 0xff;

  [[gnu::noinline]] Distance find(int endpoint);
  bool is_far(int rank) const;

  const Node& node_;
  std::vector<std::uint8_t> known_;  // by endpoint; a Distance or kUnknown
  std::optional<HardwareSurroundings> here_;
};

}  // namespace tasuki
