// Ask, wait, take a snapshot; again; diagnose; look up.
#include "launch/doctor/examination.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/system/clock.hpp"
#include "base/system/process_state.hpp"

namespace tasuki::launch {
namespace {

constexpr std::int64_t kLookNs = 5'000'000;  // between two looks whether all have answered
constexpr int kStacksMax = 32;               // of ranks that say nothing: each is stopped for a moment

doctor::Life life_of(const Subject& subject, bool ended) {
  using local::Life;
  if (ended) return doctor::Life::kEnded;
  switch (subject.block->life.load(std::memory_order_acquire)) {
    case Life::kStarted:
      return subject.block->claimed_pid.load(std::memory_order_seq_cst) != 0 ? doctor::Life::kJoining
                                                                             : doctor::Life::kStarted;
    case Life::kJoined:
      return doctor::Life::kJoining;
    case Life::kFinalized:
      return doctor::Life::kFinalized;
    default:
      return doctor::Life::kRunning;
  }
}

/// All but what stands on its board.
doctor::RankState state_of(const Subject& subject, bool has_proc) {
  doctor::RankState state;
  state.pid = local::pid_of(*subject.block);
  state.wait_status = subject.wait_status;
  bool ended = subject.ended;
  if (has_proc && state.pid > 0 && !ended) {
    const ProcessState process = state_of_process(state.pid);
    state.stopped = process.stopped();
    ended = process.ended();
    if (ended) state.wait_status = process.wait_status;
  }
  state.life = life_of(subject, ended);
  const local::Life life = subject.block->life.load(std::memory_order_acquire);
  state.ended_in_mpi = ended && life != local::Life::kFinalized &&
                       (life != local::Life::kStarted || subject.block->claimed_pid.load() != 0);
  return state;
}

bool may_answer(const doctor::RankState& state) {
  return !state.stopped && (state.life == doctor::Life::kJoining || state.life == doctor::Life::kRunning);
}

doctor::Place place_of(const SourceLine& line) {
  return {short_text(line), line.function, line.file, line.line, line.module};
}

}  // namespace

Examination::Examination(EventLoop& loop, std::vector<SubjectWorld> worlds, const Terms& terms)
    : worlds_(std::move(worlds)),
      terms_(terms),
      has_proc_(state_of_process(getpid()).known()),
      lookup_(&loop) {
  ask();
}

void Examination::ask() {
  std::vector<CallBoard*> boards;
  for (const SubjectWorld& world : worlds_) {
    for (const Subject& subject : world.ranks) {
      boards.push_back(may_answer(state_of(subject, has_proc_)) ? subject.board : nullptr);
    }
  }
  due_ns_ = clock_ns();
  inquiry_.emplace(boards, due_ns_, terms_.patience);
}

void Examination::take(doctor::Snapshot* snapshot) const {
  std::size_t place = 0;
  for (const SubjectWorld& world : worlds_) {
    doctor::World& taken = snapshot->worlds.emplace_back();
    taken.number = world.number;
    for (const Subject& subject : world.ranks) {
      doctor::RankState& state = taken.ranks.emplace_back(state_of(subject, has_proc_));
      const std::uint64_t number = inquiry_->number(place++);
      if (subject.board == nullptr) continue;
      doctor::read_board(*subject.board, static_cast<int>(world.ranks.size()), number, &state);
      if (number == 0) state.report.reset();  // it was not asked: what is there is old
    }
  }
  snapshot->at_ns = clock_ns();
}

bool Examination::step() {
  const std::int64_t now = clock_ns();
  due_ns_ = now + kLookNs;
  if (stage_ == Stage::kFirst && inquiry_->over(now)) {
    take(&first_);
    stage_ = Stage::kPause;
    pause_end_ns_ = now + terms_.pause_ns;
  }
  if (stage_ == Stage::kPause) {
    if (now < pause_end_ns_) {
      due_ns_ = pause_end_ns_;
      return false;
    }
    ask();
    stage_ = Stage::kSecond;
  }
  if (stage_ == Stage::kSecond && inquiry_->over(now)) {
    take(&second_);
    diagnosis_ = doctor::diagnose(first_, second_);
    stage_ = Stage::kDiagnosed;
  }
  if (stage_ == Stage::kLookingUp) {
    due_ns_ = lookup_.deadline_ns();
    if (lookup_.done()) {
      take_places();
      diagnosis_ = doctor::diagnose(first_, second_);
      stage_ = Stage::kDone;
    }
  }
  return stage_ == Stage::kDiagnosed || stage_ == Stage::kDone;
}

bool Examination::all_wait() const {
  for (const doctor::World& world : second_.worlds) {
    for (const doctor::RankState& rank : world.ranks) {
      if (rank.life == doctor::Life::kRunning && rank.line.inside && !rank.stopped && !rank.report)
        return false;
    }
  }
  return true;
}

void Examination::look_up() {
  std::vector<SourceQuery> queries;
  int stacks = 0;
  addresses_.clear();
  std::size_t index = 0;
  for_each_state([&](doctor::World& world, std::size_t rank) {
    const doctor::RankState& state = world.ranks[rank];
    SourceQuery& query = queries.emplace_back();
    addresses_.push_back(doctor::addresses(state));
    query.addresses = addresses_.back();
    const bool alive = state.life != doctor::Life::kEnded;
    if (alive) query.pid = state.pid;
    const bool silent = alive && !state.stopped && !state.report && state.life == doctor::Life::kRunning;
    query.wants_stack = silent && stacks++ < kStacksMax;
    const std::vector<Subject>& subjects = worlds_[index].ranks;
    if (subjects[rank].board != nullptr) query.files = published_files(*subjects[rank].board);
    if (rank + 1 == world.ranks.size()) ++index;
  });
  lookup_.start(queries, terms_.source_limit_ms);
  stage_ = Stage::kLookingUp;
  due_ns_ = lookup_.deadline_ns();
}

void Examination::take_places() {
  const std::vector<SourceAnswer> answers = lookup_.answers();
  std::size_t place = 0;
  for_each_state([&](doctor::World& world, std::size_t rank) {
    doctor::RankState& state = world.ranks[rank];
    const SourceAnswer& answer = answers[place];
    for (std::size_t at = 0; at < addresses_[place].size(); ++at) {
      if (answer.lines[at].known()) state.places[addresses_[place][at]] = place_of(answer.lines[at]);
    }
    for (const SourceLine& line : answer.stack) state.stack.push_back(place_of(line));
    ++place;
  });
}

}  // namespace tasuki::launch
