// mpiexec --top: from looks at the ranks to lines of text. Pure: when to look, and where the lines go, is
// others' business (top.hpp).
//
// Two kinds of looks. Of the ranks' lines (base/calls/call_board.hpp), often: they give the share of time
// that is spent in MPI, and how long a rank has been where it is. Of the counts that ranks publish while they
// wait (base/variables/statistics.hpp), as often as the table is shown: they give rates.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/variables/statistics.hpp"
#include "launch/doctor/standstill.hpp"

namespace tasuki::launch {

/// What of a rank is shown.
struct TopRow {
  enum class State : std::uint8_t { kStarting, kComputes, kInside, kWaits, kStopped, kFinalized, kEnded };

  std::string name;  // "3", of a spawned rank "1.3"; of several ranks "0, 2-7"
  int ranks = 1;
  State state = State::kStarting;
  std::string function;    // "MPI_Recv", where it is in a call
  std::string call;        // "MPI_Recv (source 3, tag 7)"
  double seconds = 0;      // in this state
  double mpi_share = 0;    // of the last seconds, from 0 to 1
  bool counted = false;    // its counts are known
  WayTraffic ways[kWays];  // since it was counted last
  double sleeps = 0;       //
  double interval = 0;     // seconds since it was counted last; 0: no rates are known

  WayTraffic traffic() const;
};

/// The last looks at one rank.
class TopHistory {
 public:
  void look(const RankLook& look, std::int64_t now_ns);
  void count(const RunStatistics& counts, std::int64_t now_ns);

  /// Fills in what follows from the looks. `name`, `state` (but kWaits), `function` and `call` are the
  /// caller's.
  void describe(std::int64_t now_ns, TopRow* row) const;

 private:
  struct Counted {
    std::int64_t at_ns;
    RunStatistics counts;
  };

  RankLook last_;
  std::int64_t first_ns_ = 0;   // the first look
  std::int64_t looked_ns_ = 0;  // the last one; 0: not yet
  std::int64_t since_ns_ = 0;   // it has been in this call, or outside after that one
  std::int64_t still_ns_ = 0;   // the same, and has not moved
  double mpi_share_ = 0;
  std::deque<Counted> counted_;  // the oldest first
};

struct TopTable {
  std::string title;  // "ring, 4 ranks, 1:07"
  std::vector<TopRow> rows;
};

/// As many lines as there are ranks and three more, at most `height`, each at most `width` columns: a title,
/// headings, ranks (or groups of ranks in the same state, where there are more than fit), a line of sums.
/// `bold`: with escape sequences for the headings; these do not count as columns.
std::vector<std::string> top_lines(const TopTable& table, int width, int height, bool bold);

/// The same in one line, for what is no terminal.
std::string top_summary(const TopTable& table);

/// "1.23 M": three digits.
std::string short_number(double number);

/// {0, 2, 3, 4} of the command line's world as "0, 2-4". `names`: as they follow one another.
std::string rank_list(const std::vector<std::string>& names);

}  // namespace tasuki::launch
