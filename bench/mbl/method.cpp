// How a pattern is timed (see method.hpp).
#include "method.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "buffers.hpp"
#include "statistics.hpp"

namespace mbl {

namespace {

constexpr double kSampleSeconds =
    100e-6;                            // at least: far above a clock's resolution and two clocks' difference
constexpr int kSamplesAimed = 200;     // a sample takes so much of the budget, where the operation permits
constexpr int kSamplesMin = 20;        // before a case counts as settled
constexpr double kOverBudgetMax = 10;  // slow operations: give up kSamplesForInterval at so many budgets
constexpr std::size_t kSamplesLeast = 3;  // in every row
constexpr double kAheadFirst = 20e-6, kAheadMax = 20e-3;
constexpr double kLateMin = 2e-6;  // later than that is late, or than this part of a sample …
constexpr double kLatePart = 0.05;
constexpr double kCrowdedLateMin = 50e-6;  // … and where ranks share processors, and cannot begin at once
constexpr double kCrowdedLatePart = 0.25;
constexpr int kLateByChance = 3;  // so many in turn: the begin is not far enough ahead
constexpr int kLateInTurn = 20;   // then the next sample counts, late or not
constexpr double kClockLimit = 2e-6;

/// What a sample gives rank 0.
struct Sample {
  double seconds = 0;  // of all its rounds
  double late = 0;     // by how much the last rank began after the common begin
};

/// The decisions of rank 0: how many rounds, whether to take another sample.
class Judge {
 public:
  Judge(const Limits& limits, const Benchmark& benchmark, bool crowded)
      : limits_(limits),
        crowded_(crowded),
        divisor_(benchmark.divisor),
        rounds_max_(limits.cold ? 1 : benchmark.rounds_max) {
    sample_seconds_ = std::max(kSampleSeconds, limits.budget_seconds / kSamplesAimed);
    began_ = monotonic_seconds();
  }

  /// Of the next sample; 0: there is none.
  int rounds() const { return done_ ? 0 : rounds_; }
  double ahead() const { return ahead_; }

  void take(const Sample& sample) {
    const bool is_late = sample.late > late_limit_;
    if (is_late && !finding_ && is_over()) {
      done_ = seconds_.size() >= kSamplesLeast;
      if (done_) return;
    } else if (is_late && late_in_turn_ < kLateInTurn) {
      take_late();
      return;
    }
    if (is_late) ++late_kept_;
    late_in_turn_ = 0;
    if (finding_) {
      find_rounds(sample);
    } else {
      seconds_.push_back(sample.seconds / rounds_ / divisor_);
      judge();
    }
  }

  Measurement measurement() const {
    Measurement made;
    made.seconds = seconds_;
    made.rounds = rounds_;
    made.settled = is_enough() && is_narrow();
    made.late = late_;
    if (late_kept_ > 0) made.notes.emplace_back("late_kept", late_kept_);
    return made;
  }

 private:
  double spent() const { return monotonic_seconds() - began_; }

  /// Late samples are not taken again any more: they count, as long as there are too few.
  bool is_over() const { return spent() > kOverBudgetMax * limits_.budget_seconds; }

  bool is_enough() const { return seconds_.size() >= kSamplesForInterval; }

  bool is_narrow() const {
    const Summary summary = summarise(seconds_);
    return summary.high - summary.low <= limits_.width * summary.median;
  }

  /// The sample does not count.
  void take_late() {
    ++late_in_turn_;
    if (!finding_) ++late_;
    if (late_in_turn_ >= kLateByChance) {
      ahead_ = std::min(kAheadMax, ahead_ * 1.5);
      if (crowded_) late_limit_ *= 1.5;
    }
  }

  /// The samples while rounds grow are the warm-up. The shortest round counts: what disturbs one makes it
  /// longer.
  void find_rounds(const Sample& sample) {
    round_seconds_ = std::min(round_seconds_, std::max(sample.seconds, 1e-9) / rounds_);
    const double part = crowded_ ? kCrowdedLatePart : kLatePart;
    late_limit_ = std::max(crowded_ ? kCrowdedLateMin : kLateMin,
                           part * std::max(round_seconds_ * rounds_, sample_seconds_));
    const double wanted = std::clamp<double>(std::ceil(sample_seconds_ / round_seconds_), 1, rounds_max_);
    const bool enough = tried_ && rounds_ >= wanted / 2;
    tried_ = true;
    rounds_ = static_cast<int>(enough ? wanted : std::min(wanted, 10.0 * rounds_));
    if (!enough) return;
    finding_ = false;
    began_ = monotonic_seconds();
  }

  void judge() {
    const int n = static_cast<int>(seconds_.size());
    const double budgets = spent() / limits_.budget_seconds;
    // Sorting at each sample would take the time of many: look when there are an eighth more.
    bool settled = false;
    if (n >= std::max(kSamplesMin, next_look_)) {
      settled = is_narrow();
      next_look_ = n + n / 8 + 1;
    }
    done_ = settled || (is_enough() ? budgets > 1 : is_over() && seconds_.size() >= kSamplesLeast);
  }

  Limits limits_;
  bool crowded_;
  double divisor_;
  int rounds_max_;
  double sample_seconds_ = 0, round_seconds_ = 1e30, began_ = 0;
  double ahead_ = kAheadFirst, late_limit_ = 1;
  int rounds_ = 1, late_ = 0, late_kept_ = 0, late_in_turn_ = 0, next_look_ = 0;
  bool finding_ = true, tried_ = false, done_ = false;
  std::vector<double> seconds_;
};

void wait_until(double begin, const Place& place) {
  while (place.clock->now() < begin) {
    if (place.crowded) ::sched_yield();
  }
}

/// One sample, seen by rank 0. `ahead` counts at rank 0 alone.
Sample take_sample(Pattern& pattern, Who who, int rounds, double ahead, bool cold, const Place& place) {
  pattern.prepare(rounds);
  if (cold) flush_caches(place.size);
  require(MPI_Barrier(place.control), "MPI_Barrier");
  double begin = place.clock->now() + ahead;
  require(MPI_Bcast(&begin, 1, MPI_DOUBLE, 0, place.control), "MPI_Bcast");
  wait_until(begin, place);
  const double began = place.clock->now();
  pattern.run(rounds);
  const double ended = place.clock->now();
  pattern.settle();
  double told[2] = {began - begin, ended - begin}, worst[2] = {0, 0};
  if (who == Who::kFirst) told[1] = place.rank == 0 ? ended - began : 0;
  require(MPI_Reduce(told, worst, 2, MPI_DOUBLE, MPI_MAX, 0, place.control), "MPI_Reduce");
  return {worst[1], worst[0]};
}

/// What the ranks' checks say together, known to all; the text is that of the first rank that has one.
Checked agree(const std::string& own, const Place& place, std::string* why) {
  const bool nothing = own == kNotChecked, unsupported = own.rfind(kUnsupported, 0) == 0;
  const bool wrong = !own.empty() && !nothing && !unsupported;
  int flags[3] = {wrong, unsupported, own.empty()};
  require(MPI_Allreduce(MPI_IN_PLACE, flags, 3, MPI_INT, MPI_MAX, place.control), "MPI_Allreduce");
  if (flags[0] == 0 && flags[1] == 0) return flags[2] != 0 ? Checked::kRight : Checked::kNothing;
  int speaker = (flags[0] != 0 ? wrong : unsupported) ? place.rank : place.size;
  require(MPI_Allreduce(MPI_IN_PLACE, &speaker, 1, MPI_INT, MPI_MIN, place.control), "MPI_Allreduce");
  char text[512] = {};
  if (flags[0] != 0) {
    std::snprintf(text, sizeof text, "rank %d: %s", place.rank, own.c_str());
  } else {
    std::snprintf(text, sizeof text, "%s",
                  own.substr(std::min(own.size(), std::strlen(kUnsupported))).c_str());
  }
  require(MPI_Bcast(text, sizeof text, MPI_CHAR, speaker, place.control), "MPI_Bcast");
  *why = text;
  return flags[0] != 0 ? Checked::kWrong : Checked::kLacking;
}

/// All samples of a pattern. What it returns counts at rank 0.
Measurement take_samples(Pattern& pattern, const Benchmark& benchmark, const Place& place,
                         const Limits& limits) {
  Judge judge(limits, benchmark, place.crowded);
  for (;;) {
    int rounds = judge.rounds();
    require(MPI_Bcast(&rounds, 1, MPI_INT, 0, place.control), "MPI_Bcast");
    if (rounds == 0) break;
    const Sample sample = take_sample(pattern, benchmark.who, rounds, judge.ahead(), limits.cold, place);
    if (place.rank == 0) judge.take(sample);
  }
  return judge.measurement();
}

/// What is over already, or happens once: every rank's seconds are a sample.
Measurement gather_once(const Benchmark& benchmark, const Place& place) {
  Measurement made;
  const double own = benchmark.once();
  made.seconds.resize(static_cast<std::size_t>(place.size));
  require(MPI_Gather(&own, 1, MPI_DOUBLE, made.seconds.data(), 1, MPI_DOUBLE, 0, place.control),
          "MPI_Gather");
  return made;
}

}  // namespace

Measurement measure(const Benchmark& benchmark, const Setting& setting, const Place& place,
                    const Limits& limits) {
  if (benchmark.once) return gather_once(benchmark, place);
  const std::unique_ptr<Pattern> pattern = benchmark.make(setting);
  Measurement made;
  made.checked = agree(pattern->check(), place, &made.why);
  if (made.checked == Checked::kWrong || made.checked == Checked::kLacking) return made;
  const Checked before = made.checked;
  const double line_before = place.lines ? place.lines->seconds() : 0;
  pattern->use().turn(benchmark.touched);
  made = take_samples(*pattern, benchmark, place, limits);
  pattern->use().turn(false);
  const double line_after = place.lines ? place.lines->seconds() : 0;
  if (line_before > 0 && line_after > 0) made.line_seconds = {line_before, line_after};
  for (const auto& note : pattern->notes()) made.notes.push_back(note);
  made.clock_error_seconds = place.clock->check(place.control, kClockLimit);
  made.checked = before == Checked::kNothing ? before : agree(pattern->check(), place, &made.why);
  return made;
}

bool is_crowded(MPI_Comm comm) {
  MPI_Comm node = MPI_COMM_NULL;
  require(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  int ranks = 1;
  MPI_Comm_size(node, &ranks);
  // Each rank may be bound to processors of its own: those of all count.
  cpu_set_t processors;
  CPU_ZERO(&processors);
  ::sched_getaffinity(0, sizeof processors, &processors);
  require(MPI_Allreduce(MPI_IN_PLACE, &processors, sizeof processors, MPI_BYTE, MPI_BOR, node),
          "MPI_Allreduce");
  MPI_Comm_free(&node);
  int crowded = ranks > CPU_COUNT(&processors);
  require(MPI_Allreduce(MPI_IN_PLACE, &crowded, 1, MPI_INT, MPI_MAX, comm), "MPI_Allreduce");
  return crowded != 0;
}

}  // namespace mbl
