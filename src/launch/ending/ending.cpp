// From the first failure to the last process's end: examine, SIGTERM, SIGKILL.
#include "launch/ending/ending.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "base/system/clock.hpp"
#include "launch/base/format.hpp"
#include "launch/ending/ended_ranks.hpp"
#include "launch/host/host_name.hpp"

namespace tasuki::launch {
namespace {

constexpr int kTimeLimitStatus = 124;

// After SIGKILL: a rank that has not ended by then hangs in the kernel; what ranks left behind is not our
// child, and its end is not seen at all where the container's first process does not reap.
constexpr std::int64_t kRankGiveUpNs = 5'000'000'000;
constexpr std::int64_t kLeftoverGiveUpNs = 100'000'000;

constexpr std::int64_t kInterruptGraceNs = 2'000'000'000;  // between SIGINT and SIGTERM
constexpr std::int64_t kGraceNs = 300'000'000;             // between SIGTERM and SIGKILL
constexpr std::int64_t kLeftoverPollNs = 10'000'000;       // of processes that are not our children

// What it takes to explain the failure: a helper process that reads debug information.
constexpr std::int64_t kMemoryBytesMin = 16 << 20;
constexpr std::int64_t kMemoryGiveUpNs = 1'000'000'000;
constexpr long kMemoryPollNs = 2'000'000;

}  // namespace

Ending::Ending(Worlds& worlds, RankProcesses& processes, Console& console, double timeout_seconds)
    : worlds_(worlds), processes_(processes), console_(console), timeout_seconds_(timeout_seconds) {}

void Ending::begin_time_limit() {
  if (timeout_seconds_ <= 0) return;
  time_limit_ns_ = clock_ns() + static_cast<std::int64_t>(timeout_seconds_ * 1e9);
}

void Ending::fail_with(int status) {
  if (status_ == 0) status_ = status;
}

std::optional<WorldRank> Ending::look_for_ended() {
  std::vector<WorldRank> ended = processes_.take_ended();
  std::erase_if(ended, [](const WorldRank& one) { return one.world->course != Course::kRuns; });
  if (phase_ != Phase::kRunning || ended.empty()) return {};
  const Judgement judgement = judge_ended(worlds_, ended);
  fail_with(judgement.status);
  if (!judgement.cause) return {};
  if (failure_) end_failed();  // of other worlds, which the doctor still looks at
  if (!explain(*judgement.cause)) return {};
  return judgement.cause;
}

/// The worlds that are connected to `job`. `others`: whether there is anything besides that goes on.
std::vector<World*> Ending::connected_to(std::uint64_t job, bool* others) const {
  const std::set<std::uint64_t> jobs = worlds_.connections().of(job);
  std::vector<World*> connected;
  *others = worlds_.owner() != 0 && !jobs.contains(worlds_.owner());
  for (const auto& world : worlds_) {
    if (jobs.contains(world->job())) {
      connected.push_back(world.get());
    } else if (world->starting || world->running() > 0) {
      *others = true;
    }
  }
  return connected;
}

/// Notes why the job ends. Returns false where that needs no words: then the job is ending already.
bool Ending::explain(const WorldRank& failed) {
  RankEnd end = end_of(failed);
  bool others = false;
  failed_ = connected_to(failed.world->job(), &others);
  if (!others) failed_.clear();
  if (exit_status(end) == 128 + SIGKILL && memory_limit_.has_killed()) wait_for_memory();
  end.memory_exceeded = memory_limit_.exceeded();
  fail_with(exit_status(end));
  const Rank& rank = failed.rank();
  for (RankStream* stream : {rank.output.get(), rank.error.get()}) {
    if (stream != nullptr) stream->take_available();  // its last words come before ours
  }
  const bool by_pipe = WIFSIGNALED(end.wait_status) && WTERMSIG(end.wait_status) == SIGPIPE;
  if (by_pipe && console_.reader_gone()) {  // as in "mpiexec ... | head": no failure
    this->end();
    return false;
  }
  failure_ = std::move(end);
  for (World* world : failed_) world->course = Course::kExamined;
  if (failed_.empty()) phase_ = Phase::kExamining;
  return true;
}

/// The memory of a rank that the kernel killed comes back when no process maps it any more, and a process
/// that asks for memory before that is killed, too: so the others are killed at once, and we ask for none
/// until there is some.
void Ending::wait_for_memory() const {
  const std::int64_t end_ns = clock_ns() + kMemoryGiveUpNs;
  const timespec pause{0, kMemoryPollNs};
  if (memory_limit_.room_bytes() >= kMemoryBytesMin) return;
  for (const World* world : failed_) processes_.signal_world(*world, SIGKILL);
  if (failed_.empty()) forward(SIGKILL);
  while (memory_limit_.room_bytes() < kMemoryBytesMin && clock_ns() < end_ns) nanosleep(&pause, nullptr);
}

void Ending::say_failure(std::string whereabouts, std::string site) {
  failure_->whereabouts = std::move(whereabouts);
  failure_->site = std::move(site);
  say_untold_failure();
}

void Ending::say_untold_failure() {
  if (!failure_) return;
  int running = failed_.empty() ? worlds_.running() : 0;
  for (const World* world : failed_) running += world->running();
  console_.say(failure_message(*failure_, host_name(), running));
  failure_.reset();
}

void Ending::end_failed() {
  if (phase_ != Phase::kRunning) return end();
  say_untold_failure();
  end_worlds(std::exchange(failed_, {}));
}

void Ending::end_connected(std::uint64_t job, const std::string& message) {
  bool others = false;
  const std::vector<World*> connected = connected_to(job, &others);
  const auto runs = [](const World* world) { return world->running() > 0; };
  if (std::none_of(connected.begin(), connected.end(), runs)) return;
  if (!others) return end_with(1, message);
  fail_with(1);
  console_.say(message);
  end_worlds(connected);
}

void Ending::end_worlds(const std::vector<World*>& ending) {
  for (World* world : ending) {
    world->course = Course::kEnding;
    world->deadline_ns = clock_ns() + kGraceNs;
    processes_.signal_world(*world, SIGTERM);
    processes_.signal_world(*world, SIGCONT);  // one that is stopped could not end
  }
}

void Ending::meet_deadlines_of_worlds(std::int64_t now_ns) {
  for (const auto& world : worlds_) {
    if (world->deadline_ns == 0 || world->deadline_ns > now_ns) continue;
    world->course = Course::kKilling;
    world->deadline_ns = 0;
    processes_.signal_world(*world, SIGKILL);
  }
}

bool Ending::take_time_limit(std::int64_t now_ns) {
  if (phase_ != Phase::kRunning || time_limit_ns_ == 0 || now_ns < time_limit_ns_) return false;
  fail_with(kTimeLimitStatus);
  phase_ = Phase::kExamining;
  return true;
}

void Ending::end_at_time_limit(bool stand_still) {
  hurried_ = true;
  const int left = worlds_.running();
  console_.say(format("mpiexec: the time limit of %g s is over%s; ending %d rank%s that still run%s",
                      timeout_seconds_, stand_still ? ", with all ranks where they were" : "", left,
                      left == 1 ? "" : "s", left == 1 ? "s" : ""));
  end();
}

void Ending::end_with(int status, const std::string& message) {
  fail_with(status);
  console_.say(message);
  end();
}

void Ending::end_for_signal(int signal) {
  hurried_ = true;
  if (phase_ == Phase::kInterrupting) return end();
  if (phase_ != Phase::kRunning) return kill();
  const int left = worlds_.running();
  fail_with(128 + signal);
  console_.say(
      format("mpiexec: got %s; ending %d rank%s", signal_text(signal).c_str(), left, left == 1 ? "" : "s"));
  if (signal != SIGINT) return end();
  phase_ = Phase::kInterrupting;
  deadline_ns_ = clock_ns() + kInterruptGraceNs;
  processes_.signal(SIGINT, false);
  forward(SIGCONT);
}

void Ending::end() {
  say_untold_failure();
  phase_ = Phase::kEnding;
  deadline_ns_ = clock_ns() + kGraceNs;
  forward(SIGTERM);
  forward(SIGCONT);  // one that is stopped could not end
}

void Ending::kill() {
  say_untold_failure();
  phase_ = Phase::kKilling;
  deadline_ns_ = clock_ns() + (worlds_.running() > 0 ? kRankGiveUpNs : kLeftoverGiveUpNs);
  forward(SIGKILL);
}

/// While the job runs, what ranks started and let go of is their business.
void Ending::forward(int signal) const {
  processes_.signal(signal, phase_ != Phase::kRunning);
}

std::int64_t Ending::due_ns(std::int64_t now_ns) const {
  std::int64_t due = deadline_ns_;
  const auto consider = [&due](std::int64_t time) {
    if (time != 0 && (due == 0 || time < due)) due = time;
  };
  if (phase_ == Phase::kRunning) {
    consider(time_limit_ns_);
    for (const auto& world : worlds_) consider(world->deadline_ns);
  }
  if (processes_.reaped()) consider(now_ns + kLeftoverPollNs);
  return due;
}

void Ending::meet_deadline(std::int64_t now_ns) {
  if (phase_ == Phase::kRunning) meet_deadlines_of_worlds(now_ns);
  if (deadline_ns_ == 0 || deadline_ns_ > now_ns) return;
  if (phase_ == Phase::kInterrupting) return end();
  if (phase_ == Phase::kEnding) return kill();
  const int left = worlds_.running();
  if (left == 0 && processes_.reaped() && !processes_.far_settled())
    return;  // agents have a clock of their own
  if (left > 0) {
    console_.say(
        format("mpiexec: giving up on %d rank%s that SIGKILL did not end", left, left == 1 ? "" : "s"));
  }
  gave_up_ = true;
}

bool Ending::over(bool may_grow) {
  if (gave_up_) return true;
  if (worlds_.running() > 0 || phase_ == Phase::kExamining || failure_) return false;
  if (may_grow && phase_ == Phase::kRunning) return false;
  if (!processes_.reaped()) processes_.reap();
  const bool left = processes_.any_left();
  const bool settled = processes_.far_settled();
  if (!left && settled && (!streams_open() || phase_ == Phase::kKilling)) return true;
  if (left && phase_ == Phase::kKilling) forward(SIGKILL);  // those that began meanwhile, or lost a parent
  if (phase_ <= Phase::kInterrupting && (left || settled))
    end();  // processes that the ranks' programs left behind
  return false;
}

bool Ending::streams_open() const {
  bool open = false;
  worlds_.for_each_stream([&open](const RankStream& stream) { open = open || stream.open(); });
  return open;
}

}  // namespace tasuki::launch
