// When the doctor looks at this job, and what is done with what it says.
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.hpp"
#include "launch/base/format.hpp"
#include "launch/job/job.hpp"

namespace tasuki::launch {
namespace {

constexpr std::int64_t kLookNs = 1'000'000'000;     // between two looks at the ranks' lines
constexpr std::int64_t kQuickLookNs = 200'000'000;  // the same in checking mode
constexpr std::int64_t kLeastLookNs = 50'000'000;
constexpr int kDeadlockStatus = 125;

// A job that fails has a second until it has ended, SIGTERM's grace included.
constexpr Inquiry::Patience kHurried{.outside_ns = 100'000'000, .inside_ns = 150'000'000};
constexpr int kHurriedSourceMs = 300;

// Whoever sets a time limit waits for its end, too.
constexpr Inquiry::Patience kPunctual{.outside_ns = 150'000'000, .inside_ns = 300'000'000};
constexpr int kPunctualSourceMs = 1'000;

/// Whether ranks wait for another job, as a server does.
bool waits_outside(const doctor::Diagnosis& diagnosis) {
  const auto is_outside = [](const doctor::Finding& finding) { return finding.id == "waits-outside"; };
  return std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(), is_outside);
}

/// The ranks that wait for ever, in words: two reports with the same ones are the same.
std::string deadlocked(const doctor::Diagnosis& diagnosis) {
  std::string text;
  for (const doctor::Finding& finding : diagnosis.findings) {
    if (!finding.certain || !finding.is_deadlock) continue;
    text += finding.id + ": " + doctor::rank_list(finding.ranks, diagnosis.world_numbers) + "; ";
  }
  return text;
}

/// The rank is a process that the program of the command line has started, and it is gone.
bool is_lost(const local::RankBlock& block) {
  const int claimed = block.claimed_pid.load(std::memory_order_seq_cst);
  const bool wrapped = claimed != 0 && claimed != block.started_pid.load(std::memory_order_acquire);
  return wrapped && kill(claimed, 0) != 0 && errno == ESRCH;
}

RankLook look_at(const Subject& subject) {
  RankLook look;
  const CallLine& line = subject.board->line;
  look.word = line.word.load(std::memory_order_relaxed);
  look.moves = line.moves.load(std::memory_order_relaxed);
  const local::Life life = subject.block->life.load(std::memory_order_acquire);
  const bool joining = life == local::Life::kJoined;
  if (subject.ended || life == local::Life::kFinalized || is_lost(*subject.block)) {
    look.place = RankLook::Place::kGone;
  } else if (joining || (life == local::Life::kInitialized && (look.word & kInside) != 0)) {
    look.place = RankLook::Place::kInside;
  }
  return look;
}

}  // namespace

Subject Job::subject(World& world, int rank) {
  const Rank& looked_at = world.ranks[static_cast<std::size_t>(rank)];
  return {.board = &world.segment.board(rank),
          .block = &world.segment.rank(rank),
          .ended = looked_at.ended,
          .wait_status = looked_at.ended ? looked_at.wait_status : -1};
}

std::vector<SubjectWorld> Job::subjects() {
  std::vector<SubjectWorld> subjects;
  for (const auto& world : worlds_) {
    SubjectWorld& taken = subjects.emplace_back();
    taken.number = world->number;
    for (int rank = 0; rank < world->size(); ++rank) taken.ranks.push_back(subject(*world, rank));
  }
  return subjects;
}

/// Whether any rank has called MPI_Init: of others there is nothing to tell.
bool Job::has_mpi() {
  bool any = false;
  for (const auto& world : worlds_) {
    for (int rank = 0; rank < world->size(); ++rank) {
      any = any || world->segment.rank(rank).claimed_pid.load(std::memory_order_acquire) != 0;
    }
  }
  return any;
}

/// In checking mode a deadlock is looked for all the time.
void Job::watch_ranks(std::int64_t now) {
  if (phase_ != Phase::kRunning || next_look_ns_ == 0 || now < next_look_ns_) return;
  const auto stall_ns = static_cast<std::int64_t>(options_.stall_seconds * 1e9);
  const std::int64_t interval_ns = checking_ ? kQuickLookNs : kLookNs;
  next_look_ns_ = now + (stall_ns > 0 ? std::clamp(stall_ns / 4, kLeastLookNs, interval_ns) : interval_ns);
  std::vector<RankLook> looks;
  for (const SubjectWorld& world : subjects()) {
    for (const Subject& subject : world.ranks) looks.push_back(look_at(subject));
  }
  standstill_.look(std::move(looks), now);
  if (examination_ != nullptr) return;
  const std::int64_t since = standstill_.since_ns();
  const std::int64_t stall_over_ns = std::max(since, standstill_asked_ns_) + stall_ns;
  if (stall_ns > 0 && since != 0 && since != told_standstill_ns_ && now >= stall_over_ns) {
    standstill_asked_ns_ = now;
    examine(Occasion::kStandstill);
  } else if (checking_ && standstill_.quiet() != 0 && standstill_.quiet() != checked_quiet_) {
    checked_quiet_ = standstill_.quiet();
    examine(Occasion::kCheck);
  }
}

/// Begins to look at all ranks. What is on its way is told for the graver of the two occasions.
void Job::examine(Occasion occasion) {
  if (examination_ != nullptr && occasion != Occasion::kFailure) {
    occasion_ = std::max(occasion_, occasion);
    return;
  }
  occasion_ = occasion;
  Examination::Terms terms;
  if (occasion == Occasion::kFailure) {
    terms = {.patience = kHurried, .source_limit_ms = kHurriedSourceMs};
  } else if (occasion == Occasion::kTimeLimit) {
    terms = {.patience = kPunctual, .source_limit_ms = kPunctualSourceMs};
  } else if (options_.nodes > 1) {
    terms.pause_ns = Examination::kNodesPauseNs;
  }
  std::vector<SubjectWorld> who = subjects();
  if (occasion == Occasion::kFailure && options_.doctor == DoctorForm::kUnasked) {
    const World& world = *failure_->who.world;  // the one that failed: its last call is all that is told
    who = {{.number = world.number, .ranks = {subject(*failure_->who.world, failure_->who.rank)}}};
    who.front().ranks.front().ended = true;
  }
  examination_ = std::make_unique<Examination>(loop_, std::move(who), terms);
}

/// Whether those who wait for another job may do so for good reason: it is none of the worlds here.
bool Job::may_be_served() const {
  return worlds_.size() == 1 || spawns_.has_owner();
}

/// Whether all ranks are in the calls that they were in when that was told. (Programs are told again.)
bool Job::stands_as_told() const {
  return standstill_.since_ns() != 0 && standstill_.quiet() != 0 && standstill_.quiet() == told_quiet_ &&
         options_.doctor != DoctorForm::kJson;
}

bool Job::is_worth_telling() const {
  const doctor::Diagnosis& diagnosis = examination_->diagnosis();
  switch (occasion_) {
    case Occasion::kCheck:
      return diagnosis.certain_deadlock() && deadlocked(diagnosis) != told_deadlock_;
    case Occasion::kStandstill:
      if (diagnosis.certain_deadlock()) return deadlocked(diagnosis) != told_deadlock_;
      return examination_->all_wait() && !(waits_outside(diagnosis) && may_be_served());
    default:
      return true;
  }
}

void Job::go_on_with_examination() {
  if (examination_ == nullptr || !examination_->step()) return;
  if (!examination_->looked_up()) {
    if (is_worth_telling()) {
      examination_->look_up();
      if (!examination_->step()) return;
    }
  }
  conclude();
}

/// What follows from an examination that is over.
void Job::conclude() {
  const std::unique_ptr<Examination> examination = std::move(examination_);
  if (occasion_ == Occasion::kFailure) return conclude_failure(*examination);
  const bool deadlock = examination->diagnosis().certain_deadlock();
  if (occasion_ == Occasion::kStandstill && (examination->looked_up() || deadlock)) {
    told_standstill_ns_ = standstill_.since_ns();  // else it is looked at again
  }
  if (!examination->looked_up()) return;  // there was nothing to tell
  say_occasion();
  tell(*examination);
  if (occasion_ == Occasion::kTimeLimit) return end_at_time_limit();
  told_quiet_ = standstill_.quiet();
  if (!deadlock) return;
  told_deadlock_ = deadlocked(examination->diagnosis());
  if (!options_.end_on_deadlock) return;
  if (status_ == 0) status_ = kDeadlockStatus;
  say("mpiexec: ending the job (--end-on-deadlock)");
  begin_ending();
}

void Job::conclude_failure(const Examination& examination) {
  const Ended& who = failure_->who;
  const bool all = options_.doctor != DoctorForm::kUnasked;
  for (const doctor::World& world : examination.snapshot().worlds) {
    if (world.number != who.world->number) continue;
    const doctor::RankState& state = world.ranks[all ? static_cast<std::size_t>(who.rank) : 0];
    if (state.line.word != 0) failure_->end.whereabouts = doctor::whereabouts(state);
    const auto place = state.places.find(state.line.site);
    if (place != state.places.end()) failure_->end.site = place->second.text;
  }
  say_failure();
  if (all) tell(examination);
  begin_ending();
}

void Job::say_failure() {
  say(failure_message(failure_->end, host_, running()));
  failure_.reset();
}

/// The job is to end at once: what was to be told of the reason is told without what the ranks are in.
void Job::cut_examination_short() {
  if (examination_ == nullptr) return;
  examination_.reset();
  if (occasion_ == Occasion::kFailure) say_failure();
}

void Job::say_occasion() {
  if (options_.doctor == DoctorForm::kJson) return;
  switch (occasion_) {
    case Occasion::kCheck:
      return say("mpiexec: ranks wait for one another for ever:");
    case Occasion::kStandstill:
      return say(format("mpiexec: no rank has moved for %g s although all wait:", options_.stall_seconds));
    case Occasion::kTimeLimit:
      return say("mpiexec: what the ranks are in at the time limit:");
    default:
      return say("mpiexec: what the ranks are in:");
  }
}

void Job::tell(const Examination& examination) {
  if (options_.doctor == DoctorForm::kJson) {
    const std::string text = doctor::json(examination.diagnosis(), examination.snapshot());
    output_.write((output_.open_line_owner != nullptr ? "\n" : "") + text + "\n");
    output_.open_line_owner = nullptr;
    return;
  }
  std::string text = doctor::text(examination.diagnosis());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  say(text);
}

}  // namespace tasuki::launch
