// --trace: where the ranks' parts go while the job runs, and the one file that they become at its end
// (docs/trace.md). The parts lie in a folder beside that file, which goes when they are merged; where mpiexec
// is killed it stays, for `tasuki trace merge`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launch/report/host_clock.hpp"

namespace tasuki::launch {

class RankEnvironment;

class TraceRecording {
 public:
  /// Makes the folder for a trace to `file`; an empty name stands for one made of the program's. Returns
  /// false, and error() says why, when it cannot be made.
  bool begin(const std::string& file, const std::vector<std::string>& command);
  bool begun() const { return !folder_.empty(); }

  /// What the ranks' environments preload.
  const std::string& library() const { return library_; }
  /// Sets the variables that say where a rank's part goes. Nothing before begin().
  void set_variables(RankEnvironment& environment, int world, const std::string& rank_name) const;

  /// Appends bytes to the part of a rank on another host, by that host's number. Nothing before begin(), and
  /// of names that no rank has.
  void add(int host, const std::string& rank_name, const std::string& bytes);
  void set_clock(int host, const HostClock& clock) { clocks_[host] = clock; }

  /// Makes one file of the parts. Returns a line about it; what went wrong is in error(), too.
  std::string merge();
  const std::string& error() const { return error_; }
  /// There is a trace: merge() found parts.
  bool made() const { return file_bytes_ > 0; }
  /// What `tasuki explain` says of that file, or why it says nothing. REQUIRES: made().
  std::string explain() const;

 private:
  struct Part;
  bool copy(const Part& part, int to);
  std::string cannot(const char* what, const std::string& path);
  std::string clock_lines(const std::string& rank_name) const;
  std::map<std::string, int> host_of_part_;  // of ranks on other hosts
  std::map<int, HostClock> clocks_;          // of those hosts

  std::string library_;
  std::string file_;
  std::string folder_;  // absolute; empty: not begun
  std::string error_;
  long long calls_ = 0;
  long long sent_bytes_ = 0;
  long long file_bytes_ = 0;
};

}  // namespace tasuki::launch
