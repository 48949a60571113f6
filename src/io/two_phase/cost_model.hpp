// The way of a collective access, and how many ranks aggregate: the cheapest by a model of what the parts
// cost. A pure function of what all ranks know alike, so all choose the same.
//
// The model's heart is what two ranks can do at once. The system writes to one file for one rank at a time,
// so more ranks write no faster than one, and calls that meet cost each other time; but they gather, and
// read, side by side, as far as there are processors. So the second aggregator of a node pays where it
// gathers while the first one writes, and one alone is best where it writes out of the owners' memory.
#pragma once

#include "base/types.hpp"
#include "io/hints/hint_table.hpp"
#include "io/plan/file_domains.hpp"
#include "placement/node_map.hpp"
#include "storage/driver.hpp"

namespace tasuki {

// Nanoseconds (cost_model.cpp has more, and where they are from); a slice decides by them, too.
inline constexpr double kCallNs = 600;          // a run of the file that is moved by itself
inline constexpr double kMeetingCallNs = 1050;  // a write that waits for those of others
inline constexpr double kPieceNs = 150;         // a run that touches the next one: a piece of a call

/// What a collective access is like, all ranks together.
struct AccessShape {
  bool write = false;
  int ranks = 1;    // that bring data
  Count bytes = 0;  // of data
  Count runs = 0;   // in the file, about: of each rank's data
  Count oversized_runs =
      0;               // of these: of views that are sent window by window (io/two_phase/oversized_views.hpp)
  FileRange hull;      // from the first byte to the last
  bool apart = false;  // no rank's data begins before that of the one before it ends, and each is one run
  int nodes = 1;
  int processors = 1;        // of a node, for its ranks
  bool offered = true;       // aggregators address all data; else it travels
  bool fills_holes = true;   // what lies between the data may be read and written back
  bool side_by_side = true;  // FileDriver::writes_beside_others()
  Count rank_bytes_max = 0;  // of a rank on the average: above it each moves its own; 0: no matter
};

struct CollectiveChoice {
  bool two_phase = false;  // else each rank moves its own
  int aggregators_per_node = 1;
  bool by_runs = false;       // aggregators move runs where they are: a buffer does not pay
  double independent_ns = 0;  // what the model says of the two ways
  double two_phase_ns = 0;
  const char* why = "";  // constant text
};

/// Whether the ranks, on one node and with one run each, need not hear of each other to choose: that two
/// phases could save is a call for each rank at most, which must be more than meeting takes.
bool is_own_always_best(int ranks, HintSwitch wanted);

/// `per_node`: how many aggregators the user wants of a node; 0: as many as pay.
CollectiveChoice choose_collective(const AccessShape& shape, HintSwitch wanted, int per_node);

/// Which ranks aggregate where the hints do not say it: as the model says, or so many for each storage
/// target, so that none of them has stripes of several targets.
AggregatorRequest request_aggregators(const IoHints& hints, const CollectiveChoice& choice,
                                      const Striping& striping, const NodeMap& nodes);

/// How bytes `hull` of the file are divided among `number` aggregators.
FileDomains divide_file(const FileRange& hull, int number, const IoHints& hints, const Striping& striping);

}  // namespace tasuki
