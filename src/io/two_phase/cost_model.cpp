// The model of collective access: see cost_model.hpp.
#include "io/two_phase/cost_model.hpp"

#include <algorithm>
#include <limits>

namespace tasuki {
namespace {

// Nanoseconds, of files in memory on the machine that bench/io.cpp was written on. Slower storage has more
// for a call and a byte on either side, so the choice stays.
constexpr double kOwnCallNs = 900;        // the same of each rank's own: ranks touch the same pages
constexpr double kPieceByteNs = 0.02;     // and what its bytes cost more than those of a buffer
constexpr double kWriteByteNs = 0.22;     // by the system, for one rank at a time
constexpr double kTurnsFactor = 1.2;      // where ranks take turns at that
constexpr double kBesideByteNs = 0.3;     // where they need not, out of memory
constexpr Count kBesideRunBytes = 2048;   // as they need not for such runs
constexpr double kReadByteNs = 0.2;       // by the system
constexpr double kMoveByteNs = 0.15;      // between memory and a buffer
constexpr double kMoveRunNs = 3;          //
constexpr double kSieveReadByteNs = 0.1;  // that stays in the cache until it is written back
constexpr double kSieveByteNs = 0.05;
constexpr double kSieveRunNs = 10;
constexpr double kSendByteNs = 0.4;      // by a message, at either end
constexpr double kTellRunNs = 50;        // to find a run, send it, and make a map of it
constexpr double kMeetNs = 15e3;         // all ranks agree on how it went
constexpr double kAggregatorNs = 3e3;    // another one
constexpr double kMarginToChange = 0.9;  // of the model's word

constexpr Count kPageBytes = 4096;
constexpr Count kDomainAlignment = 256 << 10;  // where domains are much larger: whole slices of a WindowMover

struct Amounts {
  double bytes, runs, hull;
  bool full;  // the hull has no holes
};

/// What runs cost that go by themselves, each a call, of `hands` ranks.
double separate_runs(const AccessShape& shape, const Amounts& all, double hands, double call_ns) {
  if (!shape.write) return (all.runs * call_ns + all.bytes * kReadByteNs) / hands;
  if (shape.side_by_side && all.bytes >= all.runs * kBesideRunBytes)
    return (all.runs * call_ns + all.bytes * kBesideByteNs) / hands;
  return all.runs * (hands > 1 ? kMeetingCallNs : kCallNs) + all.bytes * kWriteByteNs;
}

/// Each rank by itself: run by run, or sieving (io/access/data_sieving.hpp).
double independent(const AccessShape& shape, const Amounts& all, double hands) {
  const double one_by_one = separate_runs(shape, all, hands, kOwnCallNs);
  if (shape.write && !shape.fills_holes) return one_by_one;
  const double windows = all.hull * (shape.apart ? 1 : shape.ranks);
  const double picking = all.bytes * kSieveByteNs + all.runs * kSieveRunNs;
  double sieved = (windows * kReadByteNs + picking) / hands;
  if (shape.write) {
    const double writing = windows * kWriteByteNs;
    sieved = (windows * kSieveReadByteNs + writing + picking) / hands;
    if (!shape.side_by_side) sieved = std::max(sieved, writing * (hands > 1 ? kTurnsFactor : 1));
  }
  return std::min(one_by_one, sieved);
}

/// Aggregators that move the parts' runs.
double by_runs(const AccessShape& shape, const Amounts& all, double hands) {
  if (!all.full) return separate_runs(shape, all, hands, kCallNs);
  const double pieces = all.runs * kPieceNs + all.bytes * kPieceByteNs;
  if (!shape.write) return (pieces + all.bytes * kReadByteNs) / hands;
  if (shape.side_by_side && all.bytes >= all.runs * kBesideRunBytes)
    return (pieces + all.bytes * kBesideByteNs) / hands;
  return pieces * (hands > 1 ? 2 : 1) + all.bytes * kWriteByteNs;
}

/// Aggregators that gather in buffers, or hand out of them.
double buffered(const AccessShape& shape, const Amounts& all, double hands) {
  double moving = all.bytes * kMoveByteNs + all.runs * kMoveRunNs;
  if (!shape.offered) moving += 2 * all.bytes * kSendByteNs;
  if (!shape.write) return (all.hull * kReadByteNs + moving) / hands;
  if (!all.full && !shape.fills_holes) return by_runs(shape, all, hands);
  const bool turns = hands > 1 && !shape.side_by_side;
  const double writing = all.hull * kWriteByteNs * (turns ? kTurnsFactor : 1);
  const double all_work = writing + moving + (all.full ? 0 : all.hull * kSieveReadByteNs);
  return turns ? std::max(writing, all_work / hands) : all_work / hands;
}

/// The most aggregators up to `number` of which each has stripes of one of `targets` targets, or all of its
/// own.
int aligned_number(int number, int targets) {
  if (number >= targets) return number - number % targets;
  while (targets % number != 0) --number;
  return number;
}

}  // namespace

bool is_own_always_best(int ranks, HintSwitch wanted) {
  return wanted == HintSwitch::kAutomatic && ranks * kMeetingCallNs < kMeetNs;
}

CollectiveChoice choose_collective(const AccessShape& shape, HintSwitch wanted, int per_node) {
  CollectiveChoice choice;
  if (wanted == HintSwitch::kDisable) {
    choice.why = "the hints disable collective buffering";
    return choice;
  }
  if (shape.bytes == 0) {
    choice.why = "no rank brings data";
    return choice;
  }
  if (wanted == HintSwitch::kAutomatic && shape.rank_bytes_max > 0 &&
      shape.bytes / std::max(shape.ranks, 1) > shape.rank_bytes_max) {
    choice.why = "each rank brings more than romio_lustre_coll_threshold";
    return choice;
  }
  const Amounts all{.bytes = static_cast<double>(shape.bytes),
                    .runs = static_cast<double>(shape.runs),
                    .hull = static_cast<double>(shape.hull.bytes()),
                    .full = shape.bytes >= shape.hull.bytes()};
  const double telling_ns = static_cast<double>(shape.oversized_runs) * kTellRunNs;
  const int processors = std::max(shape.processors, 1);
  const int most = std::min(processors, shape.ranks);
  choice.independent_ns = independent(shape, all, std::min(processors * shape.nodes, shape.ranks));
  choice.two_phase_ns = std::numeric_limits<double>::infinity();
  for (int number = per_node > 0 ? per_node : 1; number <= std::max(most, per_node); ++number) {
    const double hands = std::min(number, most) * shape.nodes;
    const double runs_ns = by_runs(shape, all, hands);
    const double buffered_ns = buffered(shape, all, hands);
    const double time =
        std::min(runs_ns, buffered_ns) + telling_ns / hands + kMeetNs + number * kAggregatorNs;
    if (time < choice.two_phase_ns) {
      choice.aggregators_per_node = number;
      choice.by_runs = runs_ns < buffered_ns;
      choice.two_phase_ns = time;
    }
    if (per_node > 0) break;
  }
  if (wanted == HintSwitch::kEnable) {
    choice.two_phase = true;
    choice.why = "the hints enable collective buffering";
  } else if (choice.two_phase_ns < kMarginToChange * choice.independent_ns) {
    choice.two_phase = true;
    choice.why = "fewer and larger accesses to the file";
  } else {
    choice.why = "each rank's own accesses are large enough";
  }
  return choice;
}

AggregatorRequest request_aggregators(const IoHints& hints, const CollectiveChoice& choice,
                                      const Striping& striping, const NodeMap& nodes) {
  AggregatorRequest request = hints.aggregators;
  if (request.number > 0 || request.per_node > 0 || !request.config_list.empty()) return request;
  if (striping.targets > 0) {
    const Count wanted = Count{striping.targets} * hints.lustre_co_ratio;
    request.number =
        aligned_number(static_cast<int>(std::min<Count>(wanted, nodes.size())), striping.targets);
  } else {
    request.number = choice.aggregators_per_node * nodes.nodes();
  }
  return request;
}

FileDomains divide_file(const FileRange& hull, int number, const IoHints& hints, const Striping& striping) {
  const Count buffer_bytes = hints.collective_buffer_bytes;
  if (hints.block_bytes > 0) return FileDomains::stripes(hull, number, hints.block_bytes, buffer_bytes);
  if (striping.targets > 0) return FileDomains::stripes(hull, number, striping.unit_bytes, buffer_bytes);
  const bool large = hull.bytes() / number >= 4 * kDomainAlignment && buffer_bytes >= kDomainAlignment;
  return FileDomains::blocks(hull, number, large ? kDomainAlignment : kPageBytes, buffer_bytes);
}

}  // namespace tasuki
