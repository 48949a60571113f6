// Top: mpiexec --top as a whole. Looks at the ranks of a job twenty times a second and gives the picture of
// them twice a second; where to, and when it is time, is its owner's: JobTop for our own job,
// visit/top_visit.cpp for one that runs already.
//
// Looking costs the ranks nothing but that their lines are read. With each picture they are asked for the
// next one's: a rank that answers publishes its counts (base/variables/statistics.hpp), too.
//
// One thread. What it reads is shared memory that the ranks write: numbers are checked before they are used.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launch/doctor/subjects.hpp"
#include "launch/top/top_screen.hpp"
#include "launch/top/top_table.hpp"

namespace tasuki::launch {

class Top {
 public:
  /// `fd`: where the picture goes; what is no terminal gets a line each second instead. `title`: what runs.
  /// `since_ns`: when that began, on the monotonic clock; 0: unknown.
  Top(TopScreen::Place place, int fd, std::string title, std::int64_t since_ns);

  bool on_terminal() const { return terminal_; }

  /// When to call look() next, on the monotonic clock.
  std::int64_t due_ns() const { return look_ns_; }

  /// Looks, and returns whether it is time for a picture.
  bool look(const std::vector<SubjectWorld>& worlds, std::int64_t now_ns);

  /// The picture, to be written to the terminal, or a line without its end.
  std::string picture(const std::vector<SubjectWorld>& worlds, std::int64_t now_ns);

  /// Leaves the terminal as it was; a picture may follow.
  std::string leave() { return screen_.leave(); }

 private:
  using RankKey = std::pair<int, int>;  // number of its world, rank
  TopTable table(const std::vector<SubjectWorld>& worlds, std::int64_t now_ns);
  TopRow row(const SubjectWorld& world, int rank, std::int64_t now_ns);

  TopScreen screen_;
  const int fd_;
  const bool terminal_;
  const std::string title_;
  const std::int64_t since_ns_;
  std::int64_t look_ns_ = 0;
  std::int64_t picture_ns_ = 0;
  std::map<RankKey, TopHistory> histories_;
};

}  // namespace tasuki::launch
