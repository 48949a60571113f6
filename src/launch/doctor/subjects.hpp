// The ranks as they can be looked at from outside: what the doctor and --top read.
//
// All of it lies in memory that the ranks write, so a reader checks numbers before it uses them. A subject
// points into its world's segment, which must outlive it.
#pragma once

#include <vector>

#include "job/local/job_segment.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

struct Subject {
  CallBoard* board = nullptr;
  const local::RankBlock* block = nullptr;
  bool ended = false;    // its program, as its mpiexec knows; what /proc says its readers find out
  int wait_status = -1;  // of one that has ended; -1: not known
};

struct SubjectWorld {
  int number = 0;  // of the spawn; 0: the command line's
  std::vector<Subject> ranks;
};

/// Ranks of our own job.
Subject subject_of(const WorldRank& rank);
std::vector<SubjectWorld> subjects_of(const Worlds& worlds);

}  // namespace tasuki::launch
