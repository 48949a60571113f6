// Examination: one visit of the doctor. It asks the ranks of a job twice, takes a snapshot after each round,
// has them analysed (doctor/diagnose.hpp), and adds the source lines if the result is to be reported.
//
// Why twice: what a rank had sent before it answered the first question has arrived when its receiver answers
// the second. On virtual nodes, whose network takes its time, the rounds are `pause_ns` apart.
//
// One thread; nothing waits: the owner of an Examination calls step() when due_ns() is over. The boards and
// blocks of its subjects must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "doctor/diagnose.hpp"
#include "doctor/snapshot.hpp"
#include "job/local/job_segment.hpp"
#include "launch/base/event_loop.hpp"
#include "launch/doctor/inquiry.hpp"
#include "launch/doctor/source_lines.hpp"
#include "launch/doctor/subjects.hpp"

namespace tasuki::launch {

class Examination {
 public:
  struct Terms {
    Inquiry::Patience patience;
    std::int64_t pause_ns = 0;
    int source_limit_ms = kSourceLimitMs;
  };

  /// A pause for virtual nodes: what has left a rank arrives after the network's latency, 1 s at most, and
  /// after what is in the ring before it, 0.3 s at the least bandwidth.
  static constexpr std::int64_t kNodesPauseNs = 1'500'000'000;

  /// Asks for the first time.
  Examination(EventLoop& loop, std::vector<SubjectWorld> worlds, const Terms& terms);

  /// Goes on as far as it can. Returns whether there is a diagnosis: then, unless it has looked_up(), the
  /// caller says look_up() or lets go of it.
  bool step();
  std::int64_t due_ns() const { return due_ns_; }

  /// Finds the source lines of what is to be reported; step() then returns true again once it has them.
  void look_up();
  bool looked_up() const { return stage_ == Stage::kDone; }

  /// REQUIRES: step() has returned true.
  const doctor::Diagnosis& diagnosis() const { return diagnosis_; }
  const doctor::Snapshot& snapshot() const { return second_; }

  /// Whether each rank that is in a call has said what it waits for: one that has not is at work in there.
  bool all_wait() const;

 private:
  enum class Stage { kFirst, kPause, kSecond, kDiagnosed, kLookingUp, kDone };

  void ask();
  void take(doctor::Snapshot* snapshot) const;
  void take_places();
  template <class Each>
  void for_each_state(Each&& each) {
    for (doctor::World& world : second_.worlds) {
      for (std::size_t rank = 0; rank < world.ranks.size(); ++rank) each(world, rank);
    }
  }

  const std::vector<SubjectWorld> worlds_;
  const Terms terms_;
  const bool has_proc_;
  Stage stage_ = Stage::kFirst;
  std::int64_t due_ns_ = 0;
  std::int64_t pause_end_ns_ = 0;
  std::optional<Inquiry> inquiry_;
  doctor::Snapshot first_;
  doctor::Snapshot second_;
  doctor::Diagnosis diagnosis_;
  SourceLookup lookup_;
  std::vector<std::vector<std::uint64_t>> addresses_;  // that lookup_ was asked for, rank by rank
};

}  // namespace tasuki::launch
