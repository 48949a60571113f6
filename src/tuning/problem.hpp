// A collective as the selection sees it: only what all ranks of the communicator know alike, so that all
// choose the same. What one rank alone knows (its datatype's shape, where its buffer lies) has no place here.
//
// Pure data.
#pragma once

#include <array>

#include "base/distance.hpp"
#include "base/types.hpp"
#include "base/variables/collective_operations.hpp"

namespace tasuki {

struct Problem {
  Operation operation = Operation::kBarrier;
  int size = 1;  // ranks

  /// allreduce, bcast, exscan, reduce, reduce_scatter, scan: of the whole vector. allgather: of all blocks
  /// together. alltoall, gather, scatter: of one rank's block. alltoallv, gatherv, scatterv: 0, since no rank
  /// knows more than its own; but alltoallv of two ranks: of the longer one of the two that they exchange.
  Count bytes = 0;
  bool commutative = true;                  // the operation that reduces may be applied in any order of ranks
  Repeatable repeatable = Repeatable::kNo;  // of an operation that reduces
  bool uniform = true;                      // all blocks have as many bytes
  bool in_place = false;                    // all ranks gave MPI_IN_PLACE: in an all-to-all

  bool blocking = false;      // nonblocking and persistent ones take no node segment
  bool node_segment = false;  // the ranks share memory and have a node segment (coll/shm/node_segment.hpp),
                              // and it may be used

  bool composed =
      false;  // on several nodes; its parts may be collectives of their own
              // (coll/hierarchy/communicators.hpp), with a node segment on each node that has several ranks

  bool flags =
      false;  // it may run straight over the flags of the node segment (coll/shm/flag_collectives.hpp)

  bool several_jobs = false;  // whose tables of parameters may differ

  bool near_lines =
      false;  // cache lines were found to travel near between the ranks (protocol/line_pace.hpp)

  int nodes = 1;                    // that the ranks are on
  int node_ranks_max = 1;           // ranks on the node that has the most
  bool consecutive = true;          // the ranks of each node follow one another in the communicator
  std::array<int, 3> extents = {};  // of the communicator's grid, if it has one of up to three dimensions
  double processors = 0;  // a node's, for its ranks; virtual nodes share some; 0: as many as it needs
  Distance distance = Distance::kCache;  // of two ranks on a node

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// How many ranks a processor has: 1 or more.
inline double ranks_per_processor(const Problem& problem) {
  if (problem.processors <= 0 || problem.node_ranks_max <= problem.processors) return 1;
  return static_cast<double>(problem.node_ranks_max) / problem.processors;
}

/// Whether each rank has a node, and so its links, to itself, of several.
inline bool has_own_node(const Problem& problem) {
  return problem.nodes > 1 && problem.nodes == problem.size;
}

}  // namespace tasuki
