// diagnose(): what keeps a job from going on, told from one snapshot, or from two taken one after the other.
//
// Pure functions over plain data, so that each finding is tested on made-up ranks. What is certain: ranks
// that wait in a blocking call in both snapshots, with the same word and moves, have received between the two
// whatever had been sent before the first; if all the ranks that they wait for are among them (or are gone),
// no rank will ever wake them. One snapshot alone proves nothing that another rank could still change.
#pragma once

#include <string>
#include <vector>

#include "doctor/snapshot.hpp"

namespace tasuki::doctor {

/// A rank of one of the worlds of a job.
struct RankId {
  int world = 0;  // index in Snapshot::worlds
  int rank = 0;
  auto operator<=>(const RankId&) const = default;
};

/// Ranks that are in the same state: one line of the table.
struct Group {
  std::string state;  // a word: "waiting", "computing", "in MPI", "stopped", "starting", "joining",
                      // "finalized", "ended"
  std::string text;   // "waiting 12 s in MPI_Recv (source 3, tag 7, MPI_COMM_WORLD) at ring.c:42"
  std::vector<RankId> ranks;
};

/// One thing that is wrong, or that explains why ranks wait.
struct Finding {
  std::string id;                 // "deadlock-cycle", …: docs/doctor.md lists them
  bool certain = false;           // it cannot be otherwise; else: it looks so
  bool is_deadlock = false;       // the ranks of it will wait for ever
  std::vector<RankId> ranks;      // those concerned
  std::vector<std::string> text;  // lines: what it is first, then each rank's part in it
  std::string hint;               // what to look at; may be empty
};

struct Diagnosis {
  std::vector<Group> groups;       // every rank is in one of them
  std::vector<Finding> findings;   // the gravest first
  std::vector<int> world_numbers;  // of each world of the snapshot
  std::vector<int> world_sizes;

  /// Whether some ranks certainly wait for ever.
  bool certain_deadlock() const;
};

Diagnosis diagnose(const Snapshot& snapshot);
/// REQUIRES: the same worlds; what `second` has in addition is taken as seen once.
Diagnosis diagnose(const Snapshot& first, const Snapshot& second);

/// The table of the ranks, then the findings, or that nothing was found; lines that end with a newline.
std::string text(const Diagnosis& diagnosis);

/// The same for programs: one JSON object, one line without newline. docs/doctor.md has its keys.
std::string json(const Diagnosis& diagnosis, const Snapshot& snapshot);

/// What a rank is in, in a few words: "in MPI_Recv (source 3, tag 7, MPI_COMM_WORLD) at ring.c:42", "outside
/// MPI, after MPI_Bcast at solve.c:10", "before MPI_Init", "after MPI_Finalize".
std::string whereabouts(const RankState& state);

/// "0", "0-3, 7"; of other worlds "1.0-1.3": for messages.
std::string rank_list(const std::vector<RankId>& ranks, const std::vector<int>& world_numbers);

}  // namespace tasuki::doctor
