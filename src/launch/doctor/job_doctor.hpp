// JobDoctor: when the doctor looks at the ranks of our own job, and what it reports. (A job of another
// mpiexec is looked at by visit/doctor_visit.hpp.)
//
// It watches the ranks' lines, which costs them nothing, for a standstill, and in checking mode for
// deadlocks; its owner asks for an examination when a rank has failed, when the time limit is over, and when
// a user wants one. There is one examination at a time. What it finds it returns as a Conclusion: it prints
// nothing and ends nothing.
//
// One thread; nothing waits: the owner calls watch() at watch_due_ns() and step() at step_due_ns() and after
// each event. While examines() holds, no world may be removed.
//
// Invariants:
//  1. The same deadlock is reported once, and the same standstill once.
//  2. An examination serves the gravest of the occasions that came while it lasted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/base/event_loop.hpp"
#include "launch/doctor/examination.hpp"
#include "launch/doctor/standstill.hpp"
#include "launch/doctor/subjects.hpp"
#include "launch/options/options.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

class JobDoctor {
 public:
  /// Why the ranks are looked at; the later ones are the graver.
  enum class Occasion { kCheck, kStandstill, kAsked, kTimeLimit, kFailure };

  /// What follows from an examination.
  struct Conclusion {
    Occasion occasion = Occasion::kAsked;
    std::string report;       // lines, without the last one's end; empty: nothing is to be reported
    bool deadlock = false;    // it says that ranks wait for one another for ever
    std::string whereabouts;  // of a failed rank: doctor::whereabouts(); empty: unknown
    std::string site;         // the same: where its last call stands, "ring.c:42"
  };

  /// What it is given outlives it.
  JobDoctor(EventLoop& loop, const Worlds& worlds, const Options& options);

  /// Looks at the ranks' lines, if it is time. REQUIRES: the job runs.
  void watch(std::int64_t now_ns);
  /// 0: not wanted.
  std::int64_t watch_due_ns() const { return is_watching() ? std::max<std::int64_t>(1, watch_due_ns_) : 0; }

  /// Begins an examination of all ranks.
  void examine(Occasion occasion);
  /// Begins one after a rank's failure, instead of any other: of that rank alone where no report is wanted.
  void examine_failure(const WorldRank& failed);
  bool examines() const { return examination_ != nullptr; }

  /// Goes on with the examination. Returns what follows from it once it is over. `served_from_outside`: ranks
  /// that wait for another job may do so for good reason.
  std::optional<Conclusion> step(bool served_from_outside);
  /// 0: there is no examination.
  std::int64_t step_due_ns() const { return examines() ? examination_->due_ns() : 0; }

  /// Drops the examination without a conclusion.
  void stop() { examination_.reset(); }

  /// Whether an examination at the time limit could report anything new.
  bool has_something_to_report() const;

  /// Whether all ranks are in the calls that they were in at the last report. (Reports as JSON are repeated.)
  bool stands_as_reported() const;

 private:
  bool is_watching() const { return options_.stall_seconds > 0 || worlds_.checking(); }
  void begin(std::vector<SubjectWorld> subjects, Occasion occasion);
  bool is_worth_a_report(bool served_from_outside) const;
  Conclusion conclude();
  Conclusion conclude_failure(const Examination& examination) const;
  std::string report(const Examination& examination) const;
  std::string heading() const;

  EventLoop& loop_;
  const Worlds& worlds_;
  const Options& options_;
  std::int64_t watch_due_ns_ = 0;
  Standstill standstill_;
  std::unique_ptr<Examination> examination_;  // null: none
  Occasion occasion_ = Occasion::kAsked;      // of the examination
  WorldRank failed_;                          // the same, where that is kFailure

  std::int64_t standstill_asked_ns_ = 0;     // when a standstill was last examined
  std::int64_t standstill_reported_ns_ = 0;  // when the one began that was reported last
  std::uint64_t checked_quiet_ = 0;          // Standstill::quiet() when the last check began
  std::uint64_t reported_quiet_ = 0;         // the same at the last report
  std::string reported_deadlock_;            // the ranks of the one that was reported last
};

}  // namespace tasuki::launch
