// --io-times: the file to which the ranks append the phases of their collective accesses to files
// (io/file/phase_spans.hpp). It begins empty with each job.
#pragma once

#include <string>
#include <vector>

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
  /// A line about what has come.
  std::string report() const;
  const std::string& error() const { return error_; }

 private:
  std::string file_;  // as the user gave it
  std::string path_;  // absolute; empty: not begun
  std::string error_;
};

}  // namespace tasuki::launch
