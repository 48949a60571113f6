// OversizedViews: two-phase access of ranks whose views are too large to be sent to all ranks
// (io/file/view_table.hpp). Such a rank sends each aggregator, cycle by cycle, the runs of the file that it
// has in that one's window: first how many they are, a cycle ahead, so that no rank has to keep room for the
// worst case; then the runs themselves, while the data is on its way. The aggregator makes a map of them that
// serves for this window.
//
// Of each cycle, in this order, by all ranks: announce(), open(), take(). announce() of a cycle comes after
// open() of the one before. Where all ranks know all views none of them does anything.
//
// Memory: of three cycles; 16 bytes for each run that this rank has in the windows, and 32 for each that
// ranks have in its own window (80 while the map is made). At worst, every second byte of a window is a run.
//
// Thread safety: the process lock.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "io/two_phase/access_plan.hpp"
#include "io/two_phase/exchange_parts.hpp"
#include "p2p/request.hpp"

namespace tasuki {

class OversizedViews {
 public:
  OversizedViews(Course& course, const AccessPlan& plan, Comm& comm);
  OversizedViews(const OversizedViews&) = delete;
  OversizedViews& operator=(const OversizedViews&) = delete;

  Task announce(Count cycle);
  /// Adds what ranks of such views have in this rank's window to `parts`, which stay ascending by rank.
  /// `travelling` says which ones travel.
  Task open(Count cycle, const ExchangeParts& travelling, std::vector<ExchangePart>* parts);
  /// Returns once the maps are there.
  Task take(Count cycle);
  /// Where `rank` has its data in this rank's window: from position 0 on. The place is open()'s, the map
  /// take()'s. REQUIRES: open() has added a part of that rank.
  const FileMap* map(Count cycle, int rank) const { return &find(cycle, rank).map; }
  /// Which position of the rank's own map that map's position 0 is.
  Count position(Count cycle, int rank) const { return find(cycle, rank).sizes.position; }
  /// Returns when what this rank has sent is with the others: the first error of a message.
  Task finish();

 private:
  static constexpr Count kCycles = 3;  // one whose window is worked on, one that is open, one announced

  struct Sizes {
    Count runs = 0;
    Count bytes = 0;
    Count position = 0;  // of the first one, in the rank's map
  };
  /// What goes to, or comes from, `peer`.
  struct Window {
    int peer = 0;
    Sizes sizes{};
    std::vector<FileRun> runs{};
    FileMap map{};
    Request* request = nullptr;  // of the message that is under way
  };
  struct Cycle {
    std::vector<Window> own;     // this rank's, in the aggregators' windows
    std::vector<Window> others;  // in this rank's window, ascending by rank
  };

  Cycle& of(Count cycle) { return cycles_[static_cast<std::size_t>(cycle % kCycles)]; }
  const Window& find(Count cycle, int rank) const;
  Task wait(Window* window);
  Task start_runs(Count cycle, bool send, Window* window);
  void check_sizes(const Window& other, const FileRange& window) const;
  void check_runs(const Window& other, const FileRange& window) const;
  /// The window of this rank as an aggregator, if it is one.
  FileRange own_window(Count cycle) const;
  void find_runs(const FileRange& window, Window* own) const;

  Course& course_;
  const AccessPlan& plan_;
  Comm& comm_;
  std::array<Cycle, kCycles> cycles_;
  bool any_ = false;
  Code code_ = kSuccess;
};

}  // namespace tasuki
