// Two-phase access: all ranks' parts of one collective access, as all of them know it, and its two ways
// through the aggregators.
//
//   collective_access.cpp  finds out what all ranks want, chooses the way and makes the AccessPlan;
//                   at the end all ranks agree there on how it went
//   window_mover.cpp   an aggregator's window: gathered from its parts and written,
//                   or read and handed out
//   exchange.cpp    cycles, messages in the chosen order, and what overlaps with what
//
// A rank's part in a window is one range of positions of its map (io/view/file_map.hpp), so of its packed
// data. It is *offered* where the aggregator can address that data itself (symmetric memory on the same node,
// dense or staged so); otherwise it travels as one message for each window.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "io/course/course.hpp"
#include "io/course/task.hpp"
#include "io/file/file.hpp"
#include "io/file/phase_times.hpp"
#include "io/plan/file_domains.hpp"
#include "io/view/file_map.hpp"
#include "memory/symmetric_heap.hpp"

namespace tasuki {

/// What one rank brings.
struct RankPart {
  const FileMap* map = nullptr;  // alive as long as the plan; null at others where `is_told` is false
  PositionRange range;           // of `map`; empty: nothing
  SymmetricAddress data = 0;     // of the packed bytes of `range`, in that rank's memory; 0: not addressable
  bool is_told = true;           // all ranks know the map; else io/two_phase/oversized_views.hpp
  FileRange hull{};              // of the file, from the first byte to the last; where the map is not known
};

struct AccessPlan {
  bool write = false;
  std::vector<RankPart> parts;   // by rank
  std::vector<int> aggregators;  // ranks, by number
  FileDomains domains;
  bool by_runs = false;  // aggregators move long runs between where they are and the file
  int own_number = -1;   // of this rank among the aggregators; -1: it is none

  /// What `rank` has in `window`, as positions of its map.
  PositionRange range_in(int rank, const FileRange& window) const {
    const RankPart& part = parts[static_cast<std::size_t>(rank)];
    if (part.range.bytes() == 0) return {};
    return part.map->range_in(part.range, window.begin, window.end);
  }
};

/// How far the file accesses of one rank, or of all, came.
struct Outcome {
  int error = 0;               // the first errno, or 0
  Offset reached = INT64_MAX;  // bytes before it were moved: beyond lies an error or the end of the file
  Count bytes = 0;             // that were moved to or from the file
};

/// Works off this rank's windows, where all parts can be addressed here. REQUIRES: each rank's `data` is 0
/// only where it has nothing.
Task move_offered(Course& course, File& file, const AccessPlan& plan, const PhasePlace& place,
                  Outcome* outcome);

}  // namespace tasuki
