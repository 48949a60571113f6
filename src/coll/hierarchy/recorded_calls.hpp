// The blocking hierarchical collectives of a communicator that were called lately, recorded: the parts that
// this rank calls (coll/hierarchy/calls.hpp), and the schedule with a step for each and its own copies and
// reductions. What is recorded is a function of the collective, its root and the shape of its data, so a call
// that is like an earlier one but for its buffers runs what was recorded then.
//
// Ownership: a Hierarchy owns the records, but while one runs its Execution does.
// Thread safety: the caller holds the process lock.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "coll/hierarchy/collectives.hpp"
#include "coll/hierarchy/parts.hpp"
#include "coll/schedule/data.hpp"
#include "object/comm.hpp"
#include "placement/node_map.hpp"

namespace tasuki::hierarchy {

struct RecordedCall {
  std::size_t slot = 0;              // where it is kept
  Collective* collective = nullptr;  // null: it serves one call alone
  int root = 0;
  CallData data;
  Schedule schedule;
  std::vector<Part> parts;  // what the schedule's calls refer to by their numbers
  Code error = 0;           // of what was told before
};

class RecordedCalls {
 public:
  /// The record of such a call of `rank`; the ranks of `node` may tell each other what they know of it.
  /// REQUIRES: each node has a rank on the root's lane; the same map, node and rank each time.
  std::unique_ptr<RecordedCall> take(Collective& collective, const NodeMap& map, Comm& node, int rank,
                                     int root, const CallData& data);
  /// It has run, and may run again.
  void give_back(std::unique_ptr<RecordedCall> record);

 private:
  static constexpr int kSlotBits = 4;
  static std::size_t slot_of(Collective& collective, const CallData& data);

  std::array<std::unique_ptr<RecordedCall>, 1U << kSlotBits> records_;
};

}  // namespace tasuki::hierarchy
