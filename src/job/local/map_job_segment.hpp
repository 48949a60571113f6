// A rank finds the segment of its job: by the inherited descriptor, or, where a script closed that, by
// mpiexec's own descriptor under /proc.
//
// Thread safety: map_job_segment() may be called from one thread of a process at a time.
#pragma once

#include <cstdint>
#include <string>

#include "job/local/job_segment.hpp"

namespace tasuki::local {

/// What the environment says about this rank.
struct JobAddress {
  int fd = -1;
  int launcher_pid = 0;
  std::uint64_t job_id = 0;
  int rank = -1;
  int size = 0;
};

/// The segment as this rank sees it. `header` and `blocks` are mapped; the link's region is not.
struct MappedJob {
  int fd = -1;  // close-on-exec
  JobHeader* header = nullptr;
  RankBlock* blocks = nullptr;
  int rank = 0;
  int size = 0;
};

/// Whether mpiexec started this program (or a program that started it).
bool started_by_mpiexec();

/// Reads the TASUKI_JOB_* variables. Returns false and one line in `error` when one is missing or bad.
bool read_address(JobAddress* address, std::string* error);

/// Maps the segment and claims the rank. Returns false and one line in `error` when the segment cannot be
/// found, is another job's, or when another process already is this rank.
bool map_job_segment(const JobAddress& address, MappedJob* mapped, std::string* error);

}  // namespace tasuki::local
