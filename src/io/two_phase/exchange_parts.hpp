// ExchangeParts: which parts of a two-phase access travel as messages, cycle by cycle, as one rank sees it.
//
// Every message is one range of positions of one rank's map: what that rank has in one window. Both ends find
// it from what all ranks know, so neither sizes nor offsets are ever sent. A part travels unless the
// aggregator is the rank itself, or on its node and the part is offered there. Of ranks whose views are not
// told nothing is known here: io/two_phase/oversized_views.hpp.
//
// Pure functions of the plan and of where the ranks are; the plan and the map outlive this.
#pragma once

#include <vector>

#include "io/plan/exchange_order.hpp"
#include "io/two_phase/access_plan.hpp"
#include "placement/node_map.hpp"

namespace tasuki {

/// What one rank has in one window.
struct ExchangePart {
  int rank;              // whose data it is
  int aggregator;        // whose window it is, by number
  PositionRange range;   // of the rank's map; never empty
  bool travels = false;  // as a message; else it stays in memory
};

class ExchangeParts {
 public:
  /// `rank` is the one that asks. REQUIRES: its part's map is known.
  ExchangeParts(const AccessPlan& plan, const NodeMap& nodes, ExchangeOrder order, int rank);

  /// What this rank has in the windows of `cycle`, in the order in which it issues messages. Those of its
  /// parts that are in memory need nothing of it and are left out, but for its own window's.
  std::vector<ExchangePart> own_parts(Count cycle);

  /// What all ranks whose maps are known here have in this rank's window of `cycle`, ascending by rank.
  /// Nothing where it has none.
  std::vector<ExchangePart> window_parts(Count cycle) const;
  FileRange window(Count cycle) const;

  /// All ranks, in the order in which this one issues the messages of `cycle`.
  const std::vector<int>& order(Count cycle);

  /// Whether what `rank` has in a window of the aggregator of that number travels. Alike at all ranks.
  bool travels(int rank, int aggregator) const;

 private:
  std::vector<Count> amounts(Count cycle) const;
  Count amount(int rank, const FileRange& window) const;
  int aggregator_rank(int number) const { return plan_.aggregators[static_cast<std::size_t>(number)]; }

  const AccessPlan& plan_;
  const NodeMap& nodes_;
  ExchangeOrder kind_;
  int rank_;
  std::vector<int> number_of_;  // of each rank among the aggregators, or -1
  std::vector<int> order_;
  Count order_cycle_ = -1;  // that order_ is of; those but kWeighted are alike in all cycles
};

}  // namespace tasuki
