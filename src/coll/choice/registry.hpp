// All algorithms of the collectives: for each operation, in the order of base/variables/algorithm_table.hpp,
// when an algorithm is valid, what it costs, and the function that writes its schedule.
// coll/choice/registry.cpp is the table.
//
// To add one: a line in base/variables/algorithm_table.hpp, an entry in coll/choice/registry.cpp, and the
// functions in a file of src/coll. Everything else (the setting that forces it, its counter, MPI_T, `mpiexec
// --info`, what TASUKI_EXPLAIN says, the tests of all algorithms) follows.
//
// Preconditions live in `valid`, never in a table of numbers; what it asks is what all ranks know alike.
#pragma once

#include <span>

#include "coll/hierarchy/collectives.hpp"
#include "coll/schedule/data.hpp"
#include "coll/schedule/schedule.hpp"
#include "placement/node_map.hpp"
#include "tuning/choose.hpp"

namespace tasuki {

class Selector;

/// The ranks that take part, and what was chosen beside the algorithm: with the data, what a schedule is
/// written from.
struct Team {
  Member self;
  int root = 0;
  Count segment_bytes = 0;  // of an algorithm that cuts the data in segments, else 0
  /// Which ranks are on which node; null where these are but some of a communicator's ranks.
  const NodeMap* nodes = nullptr;
  /// What the algorithm was chosen for, and by: for those that are made of others. Never null.
  const Problem* problem = nullptr;
  const Parameters* parameters = nullptr;
  Selector* selector = nullptr;  // remembers the choices for parts; null: they are made each time
};

struct Algorithm : Candidate {
  /// Null: it writes none.
  void (*schedule)(Schedule& schedule, const Team& team, const CallData& data) = nullptr;
  /// Of a hierarchical one, whose parts are called where problem.composed (coll/hierarchy/calls.hpp); else
  /// null.
  hierarchy::Collective* collective = nullptr;
};

/// The algorithms of an operation.
std::span<const Algorithm> candidates_of(Operation operation);

/// The one with this number.
const Candidate& candidate_of(int algorithm);

}  // namespace tasuki
