// LeakSummary: what the ranks left behind when they ended MPI (TASUKI_CHECK=3), put together so that what
// many of them left alike is reported in one line.
//
// Two things are alike when they are from the same place in the same file, whatever its address is in each
// rank. Pure; a rank's files are read when its report comes, while it waits for the answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/calls/mapped_files.hpp"
#include "job/leak_report.hpp"
#include "launch/doctor/source_lines.hpp"

namespace tasuki::launch {

class LeakSummary {
 public:
  /// `spawn`: the number of the world's spawn, 0: the command line's. `files`: the rank's.
  void add(int spawn, const LeakReport& report, const std::vector<MappedFile>& files);

  bool empty() const { return lines_.empty(); }

  /// What to ask about the places, and the text when the answers are there: a line each, all after the first
  /// indented. `answers` may be fewer.
  std::vector<SourceQuery> queries() const;
  std::string text(const std::vector<SourceAnswer>& answers) const;

 private:
  struct Holder {
    int rank;
    std::uint32_t count;
  };
  struct Line {
    int spawn;
    Leak leak;        // its count says nothing
    MappedFile file;  // that holds leak.site; all zero: unknown
    std::vector<Holder> holders;
  };

  Line& line_of(int spawn, const Leak& leak, const MappedFile& file);

  std::vector<Line> lines_;
};

}  // namespace tasuki::launch
