// --io-times: the file to which the ranks append the phases of their collective accesses to files
// (io/file/phase_spans.hpp). It begins empty with each job.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launch/report/host_clock.hpp"

namespace tasuki::launch {

class RankEnvironment;

class IoTimesRecording {
 public:
  /// Makes the file empty; a name that is empty stands for one made of the program's. Returns false, and
  /// error() says why, when it cannot be written.
  bool begin(const std::string& file, const std::vector<std::string>& command);
  bool begun() const { return !path_.empty(); }

  /// Sets the variable that says where a rank writes. Nothing before begin().
  void set_variables(RankEnvironment& environment) const;
  /// Appends lines that were written on another host. Nothing before begin().
  void add(const std::string& lines);
  /// What is known of the clock of a host, which is a node of that number.
  void set_clock(int node, const std::string& host, const HostClock& clock);

  /// Writes what is known of the clocks, and returns a line about what has come. Once, at the end.
  std::string report();
  const std::string& error() const { return error_; }

 private:
  struct NodeClock {
    std::string host;
    HostClock clock;
  };
  std::map<int, NodeClock> clocks_;  // by node
  std::string file_;                 // as the user gave it
  std::string path_;                 // absolute; empty: not begun
  std::string error_;
};

}  // namespace tasuki::launch
