// The job's course: prepare, start, and the loop that waits for its end.
#include "launch/job.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "launch/signals.hpp"
#include "launch/text.hpp"
#include "runtime/local/processors.hpp"

extern char** environ;

namespace tasuki::launch {
namespace {

constexpr std::int64_t kHurriedFlushNs = 300'000'000;
constexpr int kLeftoverPollMs = 10;  // of processes that are not our children

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, sizeof name - 1);
  return name[0] != '\0' ? name : "localhost";
}

}  // namespace

Job::Job(const Options& options, const Inherited& inherited, int signal_fd)
    : options_(options),
      inherited_(inherited),
      signal_fd_(signal_fd),
      host_(host_name()),
      output_(loop_, STDOUT_FILENO, "standard output"),
      error_(loop_, STDERR_FILENO, "standard error"),
      terminal_(loop_) {
  loop_.add_readable(signal_fd_, this);
}

Job::~Job() {
  if (null_fd_ >= 0) close(null_fd_);
}

int Job::run() {
  if (prepare()) {
    guard_.start(segment_);
    if (start_all()) {
      if (options_.report_bindings) report_bindings();
      terminal_.resume();
    } else {
      begin_ending();
    }
    return main_loop();
  }
  flush_sinks();
  return status_;
}

/// Everything that can go wrong before a process is made.
bool Job::prepare() {
  for (const Application& application : options_.applications) {
    environments_.emplace_back(environ, options_, application);
  }
  if (!find_programs()) return false;
  std::vector<int> applications;
  for (std::size_t number = 0; number < options_.applications.size(); ++number) {
    applications.insert(applications.end(), static_cast<std::size_t>(options_.applications[number].ranks),
                        static_cast<int>(number));
  }
  ranks_.resize(applications.size());
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank].application = static_cast<std::size_t>(applications[rank]);
  }
  null_fd_ = open("/dev/null", O_RDWR | O_CLOEXEC);
  std::string error;
  if (null_fd_ < 0) error = format("cannot open /dev/null: %s", strerror(errno));
  if (null_fd_ < 0 || !segment_.make(applications, &error)) {
    say("mpiexec: " + error);
    status_ = 1;
    return false;
  }
  plan();
  if (options_.timeout_seconds > 0) {
    time_limit_ns_ = now_ns() + static_cast<std::int64_t>(options_.timeout_seconds * 1e9);
  }
  return true;
}

/// Finds every program before the first one starts, so that a misspelt one costs nothing.
bool Job::find_programs() {
  const std::string library = installed_library();
  int first_rank = 0;
  for (std::size_t number = 0; number < options_.applications.size(); ++number) {
    const Application& application = options_.applications[number];
    struct stat info {};
    const std::string& directory = application.directory;
    const int no_directory = directory.empty() ? 0 : stat(directory.c_str(), &info) != 0 ? errno : 0;
    if (no_directory != 0 || (!directory.empty() && !S_ISDIR(info.st_mode))) {
      say(format("mpiexec: cannot start rank %d in '%s': %s", first_rank, directory.c_str(),
                 strerror(no_directory != 0 ? no_directory : ENOTDIR)));
      status_ = 1;
      return false;
    }
    Environment& environment = environments_[number];
    if (!library.empty()) {
      environment.set_if_absent("MPI4PY_LIBMPI", library);
      // Last in the list: programs that find no MPI library elsewhere, as those that were built without ours.
      environment.append_path("LD_LIBRARY_PATH", library.substr(0, library.rfind('/')));
    }
    const char* path = environment.get("PATH");
    programs_.push_back(
        find_program(application.command[0], directory, path != nullptr ? path : getenv("PATH")));
    const FoundProgram& program = programs_.back();
    if (program.error != 0) {
      return cannot_run(first_rank, application.command[0], program.error,
                        program.searched_path ? " (searched PATH)" : "");
    }
    first_rank += application.ranks;
  }
  return true;
}

void Job::plan() {
  const auto ranks = static_cast<int>(ranks_.size());
  const int available = local::processors_available();
  std::vector<Core> cores;
  if (needs_cores(ranks, available, options_)) cores = read_cores();
  bindings_ = plan_bindings(cores, ranks, available, options_.bind_to, options_.map_by);
}

void Job::report_bindings() {
  if (bindings_.processors.empty()) {
    say(format("mpiexec: ranks are not bound to processors (%s)", bindings_.reason.c_str()));
  }
  for (std::size_t rank = 0; rank < bindings_.processors.size(); ++rank) {
    const std::vector<int>& processors = bindings_.processors[rank];
    say(format("mpiexec: rank %zu on %s is bound to processor%s %s", rank, host_.c_str(),
               processors.size() == 1 ? "" : "s", processor_list(processors).c_str()));
  }
}

int Job::main_loop() {
  while (!finished()) {
    loop_.run_once(wait_ms());
    meet_deadlines();
    follow_sinks();
  }
  drain();
  flush_sinks();
  if (options_.verbose) say(format("mpiexec: the job is over with exit status %d", status_));
  flush_sinks();
  return status_;
}

/// Whether all ranks have ended and nothing of theirs is left.
bool Job::finished() {
  if (gave_up_) return true;
  if (running() > 0) return false;
  if (!reaped_) reap_all();
  bool open = false;
  for (const Rank& rank : ranks_) {
    open = open || (rank.output != nullptr && rank.output->open()) ||
           (rank.error != nullptr && rank.error->open());
  }
  const bool left = groups_left();
  if (!left && (!open || phase_ == Phase::kKilling)) return true;
  if (phase_ == Phase::kRunning) begin_ending();  // processes that the ranks' programs left behind
  return false;
}

/// How long the loop may sleep.
int Job::wait_ms() const {
  std::int64_t next = 0;
  const auto consider = [&](std::int64_t time) {
    if (time != 0 && (next == 0 || time < next)) next = time;
  };
  consider(deadline_ns_);
  if (phase_ == Phase::kRunning) consider(time_limit_ns_);
  for (const Rank& rank : ranks_) {
    if (rank.output != nullptr) consider(rank.output->part_due_ns());
    if (rank.error != nullptr) consider(rank.error->part_due_ns());
  }
  if (next == 0 && !reaped_) return -1;
  const std::int64_t wait =
      next == 0 ? kLeftoverPollMs : std::max<std::int64_t>(0, (next - now_ns() + 999'999) / 1'000'000);
  const std::int64_t wait_max = reaped_ ? kLeftoverPollMs : 60'000;
  return static_cast<int>(std::min(wait, wait_max));
}

void Job::meet_deadlines() {
  const std::int64_t now = now_ns();
  for (Rank& rank : ranks_) {
    for (RankStream* stream : {rank.output.get(), rank.error.get()}) {
      if (stream != nullptr && stream->part_due_ns() != 0 && stream->part_due_ns() <= now) {
        stream->give_out_part();
      }
    }
  }
  if (phase_ == Phase::kRunning && time_limit_ns_ != 0 && time_limit_ns_ <= now) {
    if (status_ == 0) status_ = 124;
    hurry_ = true;
    const int left = running();
    say(format("mpiexec: the time limit of %g s is over; ending %d rank%s that still run%s",
               options_.timeout_seconds, left, left == 1 ? "" : "s", left == 1 ? "s" : ""));
    begin_ending();
  }
  if (deadline_ns_ == 0 || deadline_ns_ > now) return;
  if (phase_ == Phase::kEnding) {
    kill_ranks();
  } else {
    if (running() > 0) say(format("mpiexec: giving up on %d ranks that SIGKILL did not end", running()));
    gave_up_ = true;
  }
}

void Job::follow_sinks() {
  for (Rank& rank : ranks_) {
    if (rank.output != nullptr) rank.output->follow_sink();
    if (rank.error != nullptr) rank.error->follow_sink();
  }
  if (loss_told_ || !output_.broken() || output_.error() == EPIPE) return;
  loss_told_ = true;
  if (status_ == 0) status_ = 1;
  say(format("mpiexec: cannot write %s: %s", output_.name(), strerror(output_.error())));
}

void Job::drain() {
  for (Rank& rank : ranks_) {
    if (rank.output != nullptr) rank.output->finish();
    if (rank.error != nullptr) rank.error->finish();
  }
  follow_sinks();
}

/// A reader that pauses is waited for, but not where somebody wants the end now.
void Job::flush_sinks() {
  const std::int64_t limit_ns = now_ns() + kHurriedFlushNs;
  while (!(output_.idle() && error_.idle()) && !(hurry_ && now_ns() >= limit_ns)) {
    loop_.run_once(hurry_ ? static_cast<int>(kHurriedFlushNs / 1'000'000) : -1);
  }
}

void Job::say(const std::string& text) {
  error_.write((error_.open_line_owner != nullptr ? "\n" : "") + text + "\n");
  error_.open_line_owner = nullptr;
}

}  // namespace tasuki::launch
