// Making the job segment, and opening another mpiexec's; its layout is job/local/job_segment.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/local/job_segment.hpp"

namespace tasuki::launch {

/// mpiexec's side of the job segment, its own or one that it visits. Lives as long as the job; the memory
/// goes with its last user.
class WorldSegment {
 public:
  /// `applications[rank]` is the number of the rank's program, `nodes[rank]` its node, virtual or a host; no
  /// nodes: all are on one. `job_id`: that of the segment of this job on another host; 0: a new one. Returns
  /// false and one line in `error`.
  bool make(const std::vector<int>& applications, std::string* error, const std::vector<int>& nodes = {},
            std::uint64_t job_id = 0);
  /// Maps what another mpiexec made, from descriptor `fd` of that process. Returns false when it is no job's
  /// memory; if it is one that cannot be used, with one line in `error`, which is empty else.
  bool open(int pid, int fd, std::string* error);
  WorldSegment() = default;
  ~WorldSegment();
  WorldSegment(const WorldSegment&) = delete;
  WorldSegment& operator=(const WorldSegment&) = delete;

  int fd() const { return fd_; }
  int size() const { return size_; }  // as it was checked; the ranks can write the header
  std::uint64_t job_id() const { return header_->job_id; }
  local::JobHeader& header() { return *header_; }
  local::RankBlock& rank(int rank) { return blocks_[rank]; }
  CallBoard& board(int rank) { return *local::board_of_rank(header_, size_, rank); }

 private:
  int fd_ = -1;
  int size_ = 0;
  std::size_t bytes_ = 0;
  local::JobHeader* header_ = nullptr;
  local::RankBlock* blocks_ = nullptr;
};

}  // namespace tasuki::launch
