// Whether a job stands still: all of its ranks wait, and none has moved for some time. Pure: mpiexec looks at
// the ranks' lines (base/calls/call_board.hpp) now and then, which costs the ranks nothing, and this class
// compares.
//
// That all stand still is a reason to ask them, not yet a deadlock: a file may be slow, another job may be
// waited for. What they answer decides (doctor/diagnose.hpp).
#pragma once

#include <cstdint>
#include <vector>

namespace tasuki::launch {

/// A rank as its line shows it.
struct RankLook {
  enum class Place : std::uint8_t {
    kGone,     // it has ended or finalised MPI: no rank can wait for it to move
    kOutside,  // it computes, or has not initialised MPI yet
    kInside,   // in a call
  };
  Place place = Place::kOutside;
  std::uint64_t word = 0;
  std::uint64_t moves = 0;

  bool operator==(const RankLook&) const = default;
};

class Standstill {
 public:
  /// Two looks that are further apart than this say nothing: mpiexec itself was stopped in between, and the
  /// ranks with it.
  static constexpr std::int64_t kGapMaxNs = 3'000'000'000;

  void look(std::vector<RankLook> ranks, std::int64_t now_ns);

  /// Since when all ranks that are there have been in calls and none has moved; 0: that is not so.
  std::int64_t since_ns() const { return since_ns_; }

  /// Stands for those ranks that were in the same place in the last two looks, each in a call: it changes as
  /// soon as one moves or another one joins them. 0: there are none.
  std::uint64_t quiet() const { return quiet_; }

 private:
  std::vector<RankLook> ranks_;
  std::int64_t looked_ns_ = 0;  // 0: not yet
  std::int64_t since_ns_ = 0;
  std::uint64_t quiet_ = 0;
};

}  // namespace tasuki::launch
