// Look at lines, examine, conclude.
#include "launch/doctor/job_doctor.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/system/clock.hpp"
#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

constexpr std::int64_t kWatchNs = 1'000'000'000;  // between two looks at the ranks' lines
constexpr std::int64_t kCheckNs = 200'000'000;    // the same in checking mode
constexpr std::int64_t kLeastWatchNs = 50'000'000;

// A job that fails has a second until it has ended, SIGTERM's grace included; two on a machine that is too
// busy to read source lines at once.
constexpr Inquiry::Patience kHurried{.outside_ns = 100'000'000, .inside_ns = 150'000'000};

// A user who sets a time limit waits for its end, too.
constexpr Inquiry::Patience kPunctual{.outside_ns = 150'000'000, .inside_ns = 300'000'000};
constexpr int kSourceMs = 1'000;

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

/// Whether the rank is a process that the started program has started in its turn (a wrapper script), and is
/// gone.
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

JobDoctor::JobDoctor(EventLoop& loop, const Worlds& worlds, const Options& options)
    : loop_(loop), worlds_(worlds), options_(options) {}

void JobDoctor::watch(std::int64_t now_ns) {
  if (!is_watching() || now_ns < watch_due_ns_) return;
  const auto stall_ns = static_cast<std::int64_t>(options_.stall_seconds * 1e9);
  const std::int64_t interval_ns = worlds_.checking() ? kCheckNs : kWatchNs;
  watch_due_ns_ =
      now_ns + (stall_ns > 0 ? std::clamp(stall_ns / 4, kLeastWatchNs, interval_ns) : interval_ns);
  std::vector<RankLook> looks;
  worlds_.for_each_rank([&looks](WorldRank one) { looks.push_back(look_at(subject_of(one))); });
  standstill_.look(std::move(looks), now_ns);
  if (examines()) return;
  const std::int64_t since_ns = standstill_.since_ns();
  const std::int64_t stall_over_ns = std::max(since_ns, standstill_asked_ns_) + stall_ns;
  if (stall_ns > 0 && since_ns != 0 && since_ns != standstill_reported_ns_ && now_ns >= stall_over_ns) {
    standstill_asked_ns_ = now_ns;
    examine(Occasion::kStandstill);
  } else if (worlds_.checking() && standstill_.quiet() != 0 && standstill_.quiet() != checked_quiet_) {
    checked_quiet_ = standstill_.quiet();
    examine(Occasion::kCheck);
  }
}

void JobDoctor::examine(Occasion occasion) {
  if (examines()) {
    occasion_ = std::max(occasion_, occasion);
  } else {
    begin(subjects_of(worlds_), occasion);
  }
}

void JobDoctor::examine_failure(const WorldRank& failed) {
  failed_ = failed;
  if (options_.doctor != DoctorForm::kUnasked) return begin(subjects_of(worlds_), Occasion::kFailure);
  Subject subject = subject_of(failed);
  subject.ended = true;
  begin({{.number = failed.world->number, .ranks = {subject}}}, Occasion::kFailure);
}

void JobDoctor::begin(std::vector<SubjectWorld> subjects, Occasion occasion) {
  occasion_ = occasion;
  Examination::Terms terms;
  if (occasion == Occasion::kFailure) {
    terms = {.patience = kHurried, .source_limit_ms = kSourceMs};
  } else if (occasion == Occasion::kTimeLimit) {
    terms = {.patience = kPunctual, .source_limit_ms = kSourceMs};
  } else if (options_.nodes > 1) {
    terms.pause_ns = Examination::kNodesPauseNs;
  }
  examination_ = std::make_unique<Examination>(loop_, std::move(subjects), terms);
}

/// Ranks that have not called MPI_Init have nothing to report.
bool JobDoctor::has_something_to_report() const {
  if (stands_as_reported()) return false;
  return options_.doctor != DoctorForm::kUnasked || worlds_.any_has_joined();
}

bool JobDoctor::stands_as_reported() const {
  return standstill_.since_ns() != 0 && standstill_.quiet() != 0 && standstill_.quiet() == reported_quiet_ &&
         options_.doctor != DoctorForm::kJson;
}

/// Where there is one world, the job that its ranks wait for is another mpiexec's, and may serve them.
bool JobDoctor::is_worth_a_report(bool served_from_outside) const {
  const doctor::Diagnosis& diagnosis = examination_->diagnosis();
  const bool may_be_served = worlds_.count() == 1 || served_from_outside;
  switch (occasion_) {
    case Occasion::kCheck:
      return diagnosis.certain_deadlock() && deadlocked(diagnosis) != reported_deadlock_;
    case Occasion::kStandstill:
      if (diagnosis.certain_deadlock()) return deadlocked(diagnosis) != reported_deadlock_;
      return examination_->all_wait() && !(waits_outside(diagnosis) && may_be_served);
    default:
      return true;
  }
}

std::optional<JobDoctor::Conclusion> JobDoctor::step(bool served_from_outside) {
  if (!examines() || !examination_->step()) return {};
  if (!examination_->looked_up() && is_worth_a_report(served_from_outside)) {
    examination_->look_up();
    if (!examination_->step()) return {};
  }
  return conclude();
}

JobDoctor::Conclusion JobDoctor::conclude() {
  const std::unique_ptr<Examination> examination = std::move(examination_);
  if (occasion_ == Occasion::kFailure) return conclude_failure(*examination);
  Conclusion conclusion;
  conclusion.occasion = occasion_;
  const bool deadlock = examination->diagnosis().certain_deadlock();
  if (occasion_ == Occasion::kStandstill && (examination->looked_up() || deadlock)) {
    standstill_reported_ns_ = standstill_.since_ns();  // else it is looked at again
  }
  if (!examination->looked_up()) return conclusion;  // it was not worth a report
  conclusion.report = heading() + report(*examination);
  if (occasion_ == Occasion::kTimeLimit) return conclusion;
  reported_quiet_ = standstill_.quiet();
  if (deadlock) reported_deadlock_ = deadlocked(examination->diagnosis());
  conclusion.deadlock = deadlock;
  return conclusion;
}

JobDoctor::Conclusion JobDoctor::conclude_failure(const Examination& examination) const {
  Conclusion conclusion;
  conclusion.occasion = occasion_;
  const bool all = options_.doctor != DoctorForm::kUnasked;
  for (const doctor::World& world : examination.snapshot().worlds) {
    if (world.number != failed_.world->number) continue;
    const doctor::RankState& state = world.ranks[all ? static_cast<std::size_t>(failed_.number) : 0];
    if (state.line.word != 0) conclusion.whereabouts = doctor::whereabouts(state);
    const auto place = state.places.find(state.line.site);
    if (place != state.places.end()) conclusion.site = place->second.text;
  }
  if (all) conclusion.report = report(examination);
  return conclusion;
}

std::string JobDoctor::heading() const {
  if (options_.doctor == DoctorForm::kJson) return {};
  switch (occasion_) {
    case Occasion::kCheck:
      return "mpiexec: ranks wait for one another for ever:\n";
    case Occasion::kStandstill:
      return format("mpiexec: no rank has moved for %g s although all wait:\n", options_.stall_seconds);
    case Occasion::kTimeLimit:
      return "mpiexec: what the ranks are in at the time limit:\n";
    default:
      return "mpiexec: what the ranks are in:\n";
  }
}

std::string JobDoctor::report(const Examination& examination) const {
  if (options_.doctor == DoctorForm::kJson) {
    return doctor::json(examination.diagnosis(), examination.snapshot());
  }
  std::string text = doctor::text(examination.diagnosis());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace tasuki::launch
