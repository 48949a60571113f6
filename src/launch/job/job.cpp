// The job's course: prepare, start, and the loop that waits for its end.
#include "launch/job/job.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/system/clock.hpp"
#include "job/local/name_folder.hpp"
#include "launch/base/format.hpp"
#include "launch/host/host_name.hpp"
#include "launch/host/signals.hpp"
#include "launch/hosts/place_ranks.hpp"

namespace tasuki::launch {
namespace {

using Occasion = JobDoctor::Occasion;

constexpr int kDeadlockStatus = 125;
constexpr std::int64_t kWaitNsMax = 60'000'000'000;

}  // namespace

Job::Job(const Options& options, const Inherited& inherited, int signal_fd)
    : options_(options),
      signal_fd_(signal_fd),
      console_(loop_, STDOUT_FILENO, STDERR_FILENO),
      family_(options),
      processes_(worlds_),
      ending_(worlds_, processes_, console_, options.timeout_seconds),
      reports_(options, worlds_, console_),
      doctor_(loop_, worlds_, options),
      top_(worlds_, console_),
      streams_(loop_, options, console_),
      hosts_(loop_, options, family_, worlds_, console_, streams_, reports_, *this),
      preparation_(options, reports_, processes_.launcher_id()),
      starter_(options, inherited, streams_, console_, processes_, reports_),
      spawner_(worlds_, processes_, reports_, preparation_, starter_, hosts_, ending_, family_),
      spawns_(loop_, spawner_) {
  processes_.add(hosts_);
  processes_.spare(hosts_.launchers());
  loop_.add_readable(signal_fd_, this);
}

int Job::run() {
  starter_.spare_launcher();
  processes_.begin();
  preparation_.set_spawn_socket(spawns_.listen());
  preparation_.set_family(family_.machines(), family_.slots());
  ending_.begin_time_limit();
  if (options_.spawn_socket >= 0) {
    spawns_.serve_owner(options_.spawn_socket);
  } else if (!start_first_world()) {
    console_.flush(false);
    return ending_.status();
  }
  main_loop();
  report();
  return ending_.status();
}

/// Returns false where nothing was started. Where only a part was, the job is ending already.
bool Job::start_first_world() {
  auto world = std::make_unique<World>();
  world->number = worlds_.next_number(false);
  world->applications = options_.applications;
  Refusal refusal;
  if (!family_.place_first(options_, &world->placement, &refusal) ||
      !preparation_.prepare(world.get(), &refusal) ||
      (world->placement.spread() && !hosts_.connect(world->placement, &refusal))) {
    ending_.fail_with(refusal.status);
    if (!refusal.text.empty()) console_.say("mpiexec: " + refusal.text);
    return false;
  }
  World& first = worlds_.add(std::move(world));
  if (!first.note.empty()) console_.say("mpiexec: " + first.note);
  if (!start_ranks(&first, &refusal)) {
    if (!refusal.text.empty()) ending_.end_with(refusal.status, "mpiexec: " + refusal.text);
    return true;
  }
  if (options_.report_bindings) console_.say(bindings_text(first, host_name(), options_.nodes));
  if (options_.top) top_.begin(options_.applications.front().command.front());
  console_.terminal().resume();
  return true;
}

/// Starts the ranks here and on other hosts at once.
bool Job::start_ranks(World* world, Refusal* refusal) {
  if (!hosts_.any()) return starter_.start(world, refusal);
  starting_ = true;
  const bool started = hosts_.start_first(*world, preparation_, refusal) && starter_.start(world, refusal) &&
                       hosts_.wait_until_started(refusal);
  starting_ = false;
  if (started) look_for_ended();
  return started;
}

void Job::host_lost(const std::string& text) {
  if (ending_.job_runs()) ending_.end_with(1, "mpiexec: " + text + "; ending the job");
}

void Job::main_loop() {
  while (!ending_.over(spawns_.has_owner())) {
    loop_.run_once(wait_ms());
    const std::int64_t now_ns = clock_ns();
    follow_streams(now_ns);
    if (ending_.take_time_limit(now_ns)) examine_at_time_limit();
    ending_.meet_deadline(now_ns);
    hosts_.follow(now_ns);
    if (ending_.job_runs()) doctor_.watch(now_ns);
    follow_doctor();
    top_.show(now_ns);
    if (ending_.job_runs() && !doctor_.examines()) spawner_.retire_worlds();
  }
}

/// How long the loop may sleep.
int Job::wait_ms() const {
  const std::int64_t now_ns = clock_ns();
  std::int64_t due_ns = now_ns + kWaitNsMax;
  bool any = false;
  const auto consider = [&](std::int64_t time_ns) {
    if (time_ns == 0) return;
    any = true;
    due_ns = std::min(due_ns, time_ns);
  };
  consider(ending_.due_ns(now_ns));
  if (ending_.job_runs()) consider(doctor_.watch_due_ns());
  consider(doctor_.step_due_ns());
  consider(top_.due_ns());
  consider(hosts_.due_ns());
  worlds_.for_each_stream([&consider](const RankStream& stream) { consider(stream.part_due_ns()); });
  if (!any) return -1;
  return static_cast<int>((std::max(due_ns, now_ns) - now_ns + 999'999) / 1'000'000);
}

void Job::follow_streams(std::int64_t now_ns) {
  worlds_.for_each_stream([now_ns](RankStream& stream) {
    if (stream.part_due_ns() != 0 && stream.part_due_ns() <= now_ns) stream.give_out_part();
    stream.follow_sink();
  });
  if (console_.say_loss()) ending_.fail_with(1);
}

void Job::examine_at_time_limit() {
  if (doctor_.has_something_to_report()) {
    doctor_.examine(Occasion::kTimeLimit);
  } else {
    ending_.end_at_time_limit(doctor_.stands_as_reported());
  }
}

/// Goes on with an examination, and draws what follows from it. An end that has begun meanwhile, for another
/// reason, does not wait for the doctor.
void Job::follow_doctor() {
  if (ending_.phase() > Ending::Phase::kExamining) doctor_.stop();
  const auto conclusion = doctor_.step(spawns_.has_owner());
  if (!conclusion) return;
  const bool failure = conclusion->occasion == Occasion::kFailure;
  if (failure) ending_.say_failure(conclusion->whereabouts, conclusion->site);
  if (!conclusion->report.empty() && options_.doctor == DoctorForm::kJson) {
    console_.print(conclusion->report + "\n");
  } else if (!conclusion->report.empty()) {
    console_.say(conclusion->report);
  }
  if (failure) return ending_.end_failed();
  if (conclusion->occasion == Occasion::kTimeLimit) {
    return ending_.end_at_time_limit(doctor_.stands_as_reported());
  }
  if (conclusion->deadlock && options_.end_on_deadlock) {
    ending_.end_with(kDeadlockStatus, "mpiexec: ending the job (--end-on-deadlock)");
  }
}

/// While hosts start their ranks it is not known how many run; those that have ended are found afterwards.
void Job::look_for_ended() {
  if (starting_) return;
  const auto failed = ending_.look_for_ended();
  if (!failed) return;
  doctor_.examine_failure(*failed);
  follow_doctor();
}

void Job::ready() {
  for (int signal = 0; (signal = next_signal(signal_fd_)) != 0;) take_signal(signal);
}

void Job::take_signal(int signal) {
  switch (signal) {
    case SIGCHLD:
      return look_for_ended();
    case SIGTSTP:
      top_.hide();
      ending_.forward(SIGTSTP);
      raise(SIGSTOP);  // until SIGCONT comes, which arrives as a signal too
      hosts_.note_stop();
      return;
    case SIGCONT:
      ending_.forward(SIGCONT);
      return console_.terminal().resume();
    case SIGUSR1:
    case SIGUSR2:
      return ending_.forward(signal);
    case SIGQUIT:
      if (ending_.job_runs()) return doctor_.examine(Occasion::kAsked);
      break;
    default:
      break;
  }
  ending_.end_for_signal(signal);
}

/// What is left to say when all ranks have ended.
void Job::report() {
  if (ending_.status() != 0) local::remove_names_of_the_dead();
  top_.end();
  worlds_.for_each_stream([](RankStream& stream) { stream.finish(); });
  if (console_.say_loss()) ending_.fail_with(1);
  console_.flush(ending_.hurried());
  if (const std::string loss = streams_.file_loss(); !loss.empty()) {
    console_.say("mpiexec: " + loss);
    ending_.fail_with(1);
  }
  if (!reports_.print_all()) ending_.fail_with(1);
  if (options_.verbose) {
    console_.say(format("mpiexec: the job is over with exit status %d", ending_.status()));
  }
  console_.flush(ending_.hurried());
}

}  // namespace tasuki::launch
