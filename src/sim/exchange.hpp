// Runs a collective write, of which all ranks have parts and some aggregate, on a simulated machine: the
// exchange of each cycle in the library's own orders, and the writing of the aggregators' windows.
//
// A rank issues its messages of a cycle in its order, and has so many under way at a time. A message takes
// the sender's processor, the way, the links, and then the receiver's processor; only then it is no longer
// under way. It waits for its receiver to be in that cycle. When an aggregator has all of its window, it
// writes it: to one storage target, which serves one window at a time, in the order in which they come, and
// needs some time more where the last one came from another node. Files go by a network of their own.
//
// One cycle at a time: all ranks begin a cycle together, as those do that exchange their amounts in each one
// (ROMIO). Two: a rank is in the next cycle while it ends the last one, and waits for nobody else (this
// library).
#pragma once

#include <functional>
#include <vector>

#include "io/plan/exchange_order.hpp"
#include "sim/flow.hpp"
#include "sim/run.hpp"

namespace tasuki::sim {

struct ExchangeJob {
  const NodeMap* map = nullptr;  // ranks and their hosts
  ExchangeOrder order = ExchangeOrder::kRank;
  std::vector<int> aggregators;  // in the order of their file domains
  Count cycles = 1;
  Count cycles_at_a_time = 1;
  int messages_under_way = 0;   // of a rank; 0: all
  double receive_seconds = 0;   // of the receiver's processor, for each message
  double handover_seconds = 0;  // of a storage target, when the node that writes changes
  Costs costs;
  int targets = 0;
  /// What a rank has of an aggregator's window in a cycle.
  std::function<Count(int rank, int aggregator, Count cycle)> bytes;
  /// Which target the window goes to; less than 0: it is not written.
  std::function<int(int aggregator, Count cycle)> target;
};

struct ExchangeOutcome {
  double seconds = 0;
  double messages = 0, bytes = 0, network_bytes = 0, received_bytes = 0, written_bytes = 0;
  double exchange_seconds = 0, write_seconds = 0;  // of a rank that aggregates, in the mean, over all cycles
  double processor_busy_seconds = 0;               // of the rank that is busy the longest
  double target_busy_seconds = 0;                  // of the target that is busy the longest
  std::vector<double> rank_seconds;                // of each rank: until its messages were over, both ways
  bool complete = false;
};

ExchangeOutcome run_exchange(const ExchangeJob& job, Flows& flows);

}  // namespace tasuki::sim
