// Which ranks each rank of one world waits for: the graph behind the verdicts.
//
// A wait is a list of clauses: the rank goes on once at least one rank of each clause has acted. A receive is
// one clause of one rank; MPI_Waitall one clause for each request; a receive from MPI_ANY_SOURCE one clause
// of all ranks that may send. A rank is stuck if some clause has only ranks that are gone or stuck
// themselves: the largest such set is what remains after freeing, again and again, the ranks that can still
// go on. Where a report does not name the ranks waited for, the clause holds all that may be: then too many
// are free, never too few.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "doctor/call.hpp"

namespace tasuki::doctor {

using Clause = std::vector<int>;  // ranks

struct Wait {
  bool waits = false;
  bool outside = false;  // for another job, or something else that is no rank of this world
  std::vector<Clause> clauses;
};

/// What a rank has reported of a communicator.
struct Membership {
  int rank = 0;
  std::uint64_t collectives = 0;
};

/// Packets between hosts that one rank has sent and the other one has not, or that wait to be sent. Both
/// stand still.
struct OnTheWay {
  int from = 0;
  int to = 0;
  std::uint32_t sent = 0;
  std::uint32_t come = 0;     // of these
  std::uint32_t waiting = 0;  // ReportedPair::waiting, of `from`
  std::int64_t still_ns = 0;  // 0: unknown
};

struct Graph {
  const World* world = nullptr;
  std::vector<Wait> waits;                                 // [rank]
  std::vector<char> stuck;                                 // as far as this snapshot tells
  std::vector<OnTheWay> on_the_way;                        // while there are any, no rank counts as stuck
  std::vector<char> certain;                               // certainly: both snapshots tell so
  std::map<std::uint64_t, std::vector<Membership>> comms;  // by context, in the order of the ranks

  int size() const { return static_cast<int>(waits.size()); }
  const RankState& state(int rank) const { return world->ranks[static_cast<std::size_t>(rank)]; }
  bool gone(int rank) const { return is_gone(state(rank)); }
  static bool is_gone(const RankState& state) {
    return state.life == Life::kEnded || state.life == Life::kFinalized;
  }

  /// The clause that keeps a stuck rank; null for others.
  const Clause* stuck_clause(int rank) const;
};

/// `first`: the same world earlier, or null.
Graph make_graph(const World* first, const World& world);

}  // namespace tasuki::doctor
