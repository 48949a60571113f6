// The job's course: prepare, start, and the loop that waits for its end.
#include "launch/job/job.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/random_number.hpp"
#include "heap/interface.hpp"
#include "job/local/name_folder.hpp"
#include "launch/base/format.hpp"
#include "launch/host/orphans.hpp"
#include "launch/host/signals.hpp"
#include "node/processors.hpp"
#include "tuning/table.hpp"

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

/// Whether both descriptors lead to one file, pipe or terminal.
bool is_one_place(int one, int other) {
  struct stat first {};
  struct stat second {};
  return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

Job::Job(const Options& options, const Inherited& inherited, int signal_fd)
    : options_(options),
      inherited_(inherited),
      signal_fd_(signal_fd),
      host_(host_name()),
      output_(loop_, STDOUT_FILENO, "standard output"),
      error_(loop_, STDERR_FILENO, "standard error"),
      one_place_(is_one_place(STDOUT_FILENO, STDERR_FILENO)),
      terminal_(loop_),
      spawns_(loop_, *this),
      id_(format("%llx", static_cast<unsigned long long>(random_number()))),
      mark_(std::string(local::kLauncherIdName) + "=" + id_) {
  loop_.add_readable(signal_fd_, this);
}

Job::~Job() {
  if (null_fd_ >= 0) close(null_fd_);
}

int Job::run() {
  spare_launcher();
  adopt_orphans();
  guard_.start(mark_);
  spawn_socket_ = spawns_.listen();
  if (options_.timeout_seconds > 0) {
    time_limit_ns_ = clock_ns() + static_cast<std::int64_t>(options_.timeout_seconds * 1e9);
  }
  if (options_.stall_seconds > 0) next_look_ns_ = clock_ns();
  if (options_.spawn_socket >= 0) {
    spawns_.serve_owner(options_.spawn_socket);
    return main_loop();
  }
  auto world = std::make_unique<World>();
  world->applications = options_.applications;
  Refusal refusal;
  if (!prepare(world.get(), &refusal)) {
    say("mpiexec: " + refusal.text);
    flush_sinks();
    return refusal.status;
  }
  World& first = *worlds_.emplace_back(std::move(world));
  if (start_all(&first, &refusal)) {
    if (options_.report_bindings) report_bindings();
    begin_top();
    terminal_.resume();
  } else {
    say("mpiexec: " + refusal.text);
    status_ = refusal.status;
    begin_ending();
  }
  return main_loop();
}

/// Everything that can go wrong before a process is made.
bool Job::prepare(World* world, Refusal* refusal) {
  world->number = worlds_made_;
  for (const Application& application : world->applications) {
    world->environments.emplace_back(environ, options_, application).set(local::kLauncherIdName, id_);
  }
  hand_on_tuning(world);
  note_checking(*world);
  if (!find_programs(world, refusal) || !prepare_recordings(world, refusal)) return false;
  std::vector<int> applications;
  for (std::size_t number = 0; number < world->applications.size(); ++number) {
    applications.insert(applications.end(), static_cast<std::size_t>(world->applications[number].ranks),
                        static_cast<int>(number));
  }
  world->ranks.resize(applications.size());
  for (std::size_t rank = 0; rank < world->ranks.size(); ++rank) {
    world->ranks[rank].application = static_cast<std::size_t>(applications[rank]);
  }
  refusal->text.clear();
  if (null_fd_ < 0) null_fd_ = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_fd_ < 0) refusal->text = format("cannot open /dev/null: %s", strerror(errno));
  // What is spawned is on one node, beside those of the job that it comes from.
  const int nodes = world->spawned() ? 1 : options_.nodes;
  if (null_fd_ < 0 ||
      !world->segment.make(applications, &refusal->text,
                           plan_nodes(static_cast<int>(applications.size()), nodes, options_.node_order))) {
    return false;
  }
  world->segment.header().spawn_number = world->number;
  world->segment.header().universe_size =
      options_.universe_size > 0 ? options_.universe_size : local::processors_available();
  world->segment.header().wants_statistics = options_.statistics != StatisticsForm::kNone ? 1 : 0;
  std::snprintf(world->segment.header().launcher_socket, local::kSocketBytes, "%s", spawn_socket_.c_str());
  plan(world);
  ++worlds_made_;
  return true;
}

/// In checking mode deadlocks are looked for from the start.
void Job::note_checking(const World& world) {
  for (const RankEnvironment& environment : world.environments) {
    const char* level = environment.get("TASUKI_CHECK");
    checking_ = checking_ || (level != nullptr && std::atoi(level) > 0);
  }
  if (checking_) next_look_ns_ = clock_ns();
}

/// All ranks, also those that are spawned later, choose their algorithms by what the first program's file
/// holds now.
void Job::hand_on_tuning(World* world) {
  const auto file_of = [](const RankEnvironment& environment) {
    const char* file = environment.get("TASUKI_TUNING_FILE");
    return std::string(file != nullptr ? file : "");
  };
  const auto names_one = [&](const RankEnvironment& environment) { return !file_of(environment).empty(); };
  if (!has_tuning_ && std::any_of(world->environments.begin(), world->environments.end(), names_one)) {
    has_tuning_ = true;
    const std::string file = file_of(world->environments.front());
    std::string error;
    if (!file.empty() && !read_table(file, &tuning_, &error)) tuning_ = kUnreadable + error;
    const char* foreign = world->environments.front().get("TASUKI_TUNING_FOREIGN");
    Table table;  // what is wrong in it, the ranks find themselves
    if ((foreign == nullptr || strcasecmp(foreign, "allow") != 0) && parse_table(tuning_, &table, &error)) {
      error = foreign_by(table.made_on, this_machine());
      if (!error.empty()) tuning_ = kUnreadable + error;
    }
  }
  if (!has_tuning_) return;
  for (RankEnvironment& environment : world->environments) environment.set(local::kTuningTableName, tuning_);
}

/// Finds every program before the first one starts, so that a misspelt one costs nothing.
bool Job::find_programs(World* world, Refusal* refusal) {
  const std::string library = installed_library();
  const std::string heap = installed_heap();
  int ranks = 0;
  for (const Application& application : world->applications) ranks += application.ranks;
  int first_rank = 0;
  for (std::size_t number = 0; number < world->applications.size(); ++number) {
    const Application& application = world->applications[number];
    struct stat info {};
    const std::string& directory = application.directory;
    const int no_directory = directory.empty() ? 0 : stat(directory.c_str(), &info) != 0 ? errno : 0;
    if (no_directory != 0 || (!directory.empty() && !S_ISDIR(info.st_mode))) {
      *refusal = {format("cannot start rank %d in '%s': %s", first_rank, directory.c_str(),
                         strerror(no_directory != 0 ? no_directory : ENOTDIR)),
                  1};
      return false;
    }
    RankEnvironment& environment = world->environments[number];
    if (!library.empty()) {
      environment.set_if_absent("MPI4PY_LIBMPI", library);
      // Last in the list: programs that find no MPI library elsewhere, as those that were built without ours.
      environment.append_path("LD_LIBRARY_PATH", library.substr(0, library.rfind('/')));
    }
    const char* path = application.path.empty() ? environment.get("PATH") : application.path.c_str();
    if (path == nullptr) path = getenv("PATH");
    // A program whose heap will be private needs no library. Nor one in a list that a colon or space breaks.
    const bool listable = heap.find_first_of(": ") == std::string::npos;
    const CommandPlace place{directory, path, environment.get("LD_PRELOAD")};
    const heap::Verdict verdict =
        heap_verdict(environment.get("TASUKI_HEAP"), ranks, application.command, place);
    if (!verdict.global) {
      environment.set(kHeapReasonVariable, verdict.reason);
    } else if (!heap.empty() && listable) {
      environment.preload(heap);
      environment.let_sanitizer_start();
    }
    world->programs.push_back(find_program(application.command[0], directory, path));
    const FoundProgram& program = world->programs.back();
    if (program.error != 0) {
      return cannot_run(first_rank, application.command[0], program.error,
                        program.searched_path ? " (searched PATH)" : "", refusal);
    }
    first_rank += application.ranks;
  }
  return true;
}

/// Spawned ranks share the processors with those that are bound already, so they are not.
void Job::plan(World* world) {
  if (world->spawned()) {
    world->bindings.reason = "they were spawned";
    return;
  }
  const int available = local::processors_available();
  std::vector<Core> cores;
  if (needs_cores(world->size(), available, options_.bind_to, options_.report_bindings)) cores = read_cores();
  world->bindings = plan_bindings(cores, world->size(), available, options_.bind_to, options_.map_by);
}

void Job::report_bindings() {
  const BindingPlan& bindings = worlds_.front()->bindings;
  if (bindings.processors.empty()) {
    say(format("mpiexec: ranks are not bound to processors (%s)", bindings.reason.c_str()));
  }
  for (std::size_t rank = 0; rank < bindings.processors.size(); ++rank) {
    const std::vector<int>& processors = bindings.processors[rank];
    const std::string node =
        options_.nodes > 1
            ? ".node" + std::to_string(worlds_.front()->segment.rank(static_cast<int>(rank)).node)
            : "";
    say(format("mpiexec: rank %zu on %s%s is bound to processor%s %s", rank, host_.c_str(), node.c_str(),
               processors.size() == 1 ? "" : "s", processor_list(processors).c_str()));
  }
}

int Job::main_loop() {
  while (!finished()) {
    loop_.run_once(wait_ms());
    meet_deadlines();
    watch_ranks(clock_ns());
    go_on_with_examination();
    follow_sinks();
    show_top();
    retire_worlds();
  }
  if (status_ != 0) local::remove_names_of_the_dead();
  hide_top();
  top_.reset();
  drain();
  flush_sinks();
  report_leaks();
  report_statistics();
  report_recordings();
  if (options_.verbose) say(format("mpiexec: the job is over with exit status %d", status_));
  flush_sinks();
  return status_;
}

/// Whether all ranks have ended and nothing of theirs is left.
bool Job::finished() {
  if (gave_up_) return true;
  if (running() > 0 || phase_ == Phase::kExamining) return false;
  if (spawns_.has_owner() && phase_ == Phase::kRunning) return false;
  if (!reaped_) reap_all();
  bool open = false;
  for_each_stream([&open](const RankStream& stream) { open = open || stream.open(); });
  reap_orphans();
  const bool left = groups_left() || !orphans().empty();
  if (!left && (!open || phase_ == Phase::kKilling)) return true;
  if (left && phase_ == Phase::kKilling)
    signal_groups(SIGKILL);                       // those that began meanwhile, or lost a parent
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
  if (phase_ == Phase::kRunning) {
    consider(time_limit_ns_);
    consider(next_look_ns_);
  }
  if (examination_ != nullptr) consider(examination_->due_ns());
  if (top_ != nullptr) consider(top_->due_ns());
  for_each_stream([&consider](const RankStream& stream) { consider(stream.part_due_ns()); });
  if (next == 0 && !reaped_) return -1;
  const std::int64_t wait =
      next == 0 ? kLeftoverPollMs : std::max<std::int64_t>(0, (next - clock_ns() + 999'999) / 1'000'000);
  const std::int64_t wait_max = reaped_ ? kLeftoverPollMs : 60'000;
  return static_cast<int>(std::min(wait, wait_max));
}

void Job::meet_deadlines() {
  const std::int64_t now = clock_ns();
  for_each_stream([now](RankStream& stream) {
    if (stream.part_due_ns() != 0 && stream.part_due_ns() <= now) stream.give_out_part();
  });
  if (phase_ == Phase::kRunning && time_limit_ns_ != 0 && time_limit_ns_ <= now) {
    if (status_ == 0) status_ = 124;
    const bool nothing_to_tell = options_.doctor == DoctorForm::kUnasked && !has_mpi();
    if (nothing_to_tell || stands_as_told()) return end_at_time_limit();
    phase_ = Phase::kExamining;
    examine(Occasion::kTimeLimit);
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
  for_each_stream([](RankStream& stream) { stream.follow_sink(); });
  if (loss_told_ || !output_.broken() || output_.error() == EPIPE) return;
  loss_told_ = true;
  if (status_ == 0) status_ = 1;
  say(format("mpiexec: cannot write %s: %s", output_.name(), strerror(output_.error())));
}

void Job::drain() {
  for_each_stream([](RankStream& stream) { stream.finish(); });
  follow_sinks();
}

/// A reader that pauses is waited for, but not where somebody wants the end now.
void Job::flush_sinks() {
  const std::int64_t limit_ns = clock_ns() + kHurriedFlushNs;
  while (!(output_.idle() && error_.idle()) && !(hurry_ && clock_ns() >= limit_ns)) {
    loop_.run_once(hurry_ ? static_cast<int>(kHurriedFlushNs / 1'000'000) : -1);
  }
}

/// Never in the middle of a rank's line: also one of its standard output, where both go to one place.
void Job::say(const std::string& text) {
  const bool cuts = error_.open_line_owner != nullptr || (one_place_ && output_.open_line_owner != nullptr);
  error_.write((cuts ? "\n" : "") + text + "\n");
  error_.open_line_owner = nullptr;
  if (one_place_) output_.open_line_owner = nullptr;
}

}  // namespace tasuki::launch
