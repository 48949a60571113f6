// Environments, programs, segment, plan.
#include "launch/start/preparation.hpp"

#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "heap/interface.hpp"
#include "launch/base/format.hpp"
#include "launch/program/installed_tuning.hpp"
#include "launch/program/mpi_libraries.hpp"
#include "node/processors.hpp"
#include "tuning/table.hpp"

extern char** environ;

namespace tasuki::launch {
namespace {

/// 0, or the errno of why no program can be started in that directory.
int error_of_directory(const std::string& directory) {
  struct stat info {};
  if (directory.empty()) return 0;
  if (stat(directory.c_str(), &info) != 0) return errno;
  return S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
}

int ranks_of(const std::vector<Application>& applications) {
  int ranks = 0;
  for (const Application& application : applications) ranks += application.ranks;
  return ranks;
}

/// Where to look for the program; none: a default. A copy, since variables move when others are set.
std::optional<std::string> search_path(const Application& application, const RankEnvironment& environment) {
  if (!application.path.empty()) return application.path;
  const char* path = environment.get("PATH");
  if (path == nullptr) path = getenv("PATH");
  if (path == nullptr) return {};
  return path;
}

std::string tuning_file(const RankEnvironment& environment) {
  const char* file = environment.get("TASUKI_TUNING_FILE");
  return file != nullptr ? file : "";
}

bool allows_foreign(const RankEnvironment& environment) {
  const char* foreign = environment.get("TASUKI_TUNING_FOREIGN");
  return foreign != nullptr && strcasecmp(foreign, "allow") == 0;
}

}  // namespace

Refusal cannot_run(int rank, const std::string& program, int error, const std::string& detail) {
  return {format("cannot run '%s' for rank %d: %s%s", program.c_str(), rank, strerror(error), detail.c_str()),
          cannot_run_status(error)};
}

bool Preparation::prepare(World* world, Refusal* refusal, std::uint64_t job_id) {
  for (const Application& application : world->applications) {
    world->environments.emplace_back(environ, options_, application)
        .set(local::kLauncherIdName, launcher_id_);
  }
  hand_on_tuning(world);
  for (std::size_t number = 0; number < world->applications.size(); ++number) {
    for (int rank = 0; rank < world->applications[number].ranks; ++rank) {
      Rank& added = world->ranks.emplace_back();
      added.application = number;
      added.here = world->placement.has(world->size() - 1);
    }
  }
  if (!find_programs(world, refusal)) return false;
  *refusal = {reports_.begin(*world), 1};
  if (!refusal->text.empty()) return false;
  choose_mpi_library(world);
  if (!make_segment(world, job_id, refusal)) return false;
  plan_processors(world);
  return true;
}

/// All ranks, also those that are spawned later, choose their algorithms by what the first program's file
/// holds now.
void Preparation::hand_on_tuning(World* world) {
  if (!has_tuning_) find_tuning(world);
  if (!has_tuning_) return;
  for (RankEnvironment& environment : world->environments) environment.set(local::kTuningTableName, tuning_);
}

/// The table that an application names, else that of this installation, if the job's first program may have
/// it.
void Preparation::find_tuning(World* world) {
  const auto names_one = [](const RankEnvironment& environment) { return !tuning_file(environment).empty(); };
  const RankEnvironment& first = world->environments.front();
  if (std::any_of(world->environments.begin(), world->environments.end(), names_one)) {
    has_tuning_ = true;
    read_tuning(first);
    return;
  }
  if (asked_installation_) return;
  asked_installation_ = true;
  if (first.get("TASUKI_TUNING_FILE") != nullptr) return;  // "": by none
  InstalledTuning installed = read_installed_tuning(allows_foreign(first));
  has_tuning_ = installed.state == InstalledTuning::State::kUsed;
  if (has_tuning_) tuning_ = std::move(installed.text);
  if (installed.state == InstalledTuning::State::kBad)
    world->note = installed.path + ": " + installed.reason + "; the built-in parameters are used";
}

void Preparation::read_tuning(const RankEnvironment& first) {
  const std::string file = tuning_file(first);
  std::string error;
  if (!file.empty() && !read_table(file, &tuning_, &error)) tuning_ = kUnreadable + error;
  if (allows_foreign(first)) return;
  Table table;
  if (!parse_table(tuning_, &table, &error)) return;  // what is wrong in it, the ranks find themselves
  error = foreign_by(table.made_on, this_machine());
  if (!error.empty()) tuning_ = kUnreadable + error;
}

/// Finds every program before the first one starts.
bool Preparation::find_programs(World* world, Refusal* refusal) const {
  const std::string library = installed_library();
  const int ranks = ranks_of(world->applications);
  int first_rank = 0;
  for (std::size_t number = 0; number < world->applications.size(); ++number) {
    const Application& application = world->applications[number];
    const std::string& directory = application.directory;
    const auto runs_here = [number](const Rank& rank) { return rank.here && rank.application == number; };
    if (std::none_of(world->ranks.begin(), world->ranks.end(), runs_here)) {  // another host has the program
      world->programs.emplace_back();
      first_rank += application.ranks;
      continue;
    }
    if (const int error = error_of_directory(directory); error != 0) {
      *refusal = {format("cannot start rank %d in '%s': %s", first_rank, directory.c_str(), strerror(error)),
                  1};
      return false;
    }
    RankEnvironment& environment = world->environments[number];
    if (!library.empty()) {
      environment.set_if_absent("MPI4PY_LIBMPI", library);
      // Last in the list: programs that find no MPI library elsewhere, as those that were built without ours.
      environment.append_path("LD_LIBRARY_PATH", library.substr(0, library.rfind('/')));
    }
    const std::optional<std::string> list = search_path(application, environment);
    const char* path = list ? list->c_str() : nullptr;
    choose_heap(application, ranks, path, &environment);
    const FoundProgram& program =
        world->programs.emplace_back(find_program(application.command[0], directory, path));
    if (program.error != 0) {
      const std::string places = application.path.empty() ? "PATH" : application.path;
      *refusal = cannot_run(first_rank, application.command[0], program.error,
                            program.searched_path ? " (searched " + places + ")" : "");
      return false;
    }
    first_rank += application.ranks;
  }
  return true;
}

/// Behind what is preloaded by then: a tool that records calls stands before the MPI library.
void Preparation::choose_mpi_library(World* world) const {
  const std::string library = installed_library();
  if (library.empty()) return;
  const std::string folder = library.substr(0, library.rfind('/'));
  for (std::size_t number = 0; number < world->programs.size(); ++number) {
    const Application& application = world->applications[number];
    if (world->programs[number].path.empty()) continue;  // on another host
    RankEnvironment& environment = world->environments[number];
    const std::optional<std::string> list = search_path(application, environment);
    const char* set_before = environment.get("LD_LIBRARY_PATH");
    std::string library_path = set_before != nullptr ? set_before : "";
    bool fixed = false;
    std::vector<std::string> programs;
    for (std::size_t i = 0; i < std::min(application.command.size(), kProgramWordsMax); ++i) {
      constexpr std::string_view kVariable = "LD_LIBRARY_PATH=";  // behind env
      const std::string& word = application.command[i];
      if (word.starts_with(kVariable)) {
        library_path = word.substr(kVariable.size());
        fixed = true;
      }
      if (word.empty() || word[0] == '-') continue;
      const std::string program =
          path_of_program(word, application.directory, list ? list->c_str() : nullptr);
      if (!program.empty()) programs.push_back(program);
    }
    const LibraryPlan plan = plan_libraries(programs, folder, library_path, fixed);
    if (plan.folder_first) environment.set("LD_LIBRARY_PATH", folder + ":" + library_path);
    if (!plan.folder_last.empty()) environment.append_path("LD_LIBRARY_PATH", plan.folder_last);
    for (const std::string& file : plan.preload) environment.preload(file);
    if (world->note.empty()) world->note = plan.note;
  }
}

/// A program whose heap will be private needs no heap library. Nor is one preloaded whose name has a colon or
/// a blank, which separate the names of that list.
void Preparation::choose_heap(const Application& application, int ranks, const char* path,
                              RankEnvironment* environment) const {
  const std::string heap = installed_heap();
  const CommandPlace place{application.directory, path, environment->get("LD_PRELOAD")};
  const heap::Verdict verdict =
      heap_verdict(environment->get("TASUKI_HEAP"), ranks, application.command, place);
  if (!verdict.global) {
    environment->set(kHeapReasonVariable, verdict.reason);
  } else if (!heap.empty() && heap.find_first_of(": ") == std::string::npos) {
    environment->preload(heap);
    environment->let_sanitizer_start();
  }
}

/// What is spawned is on one node of each host, beside the ranks of the job that it comes from.
bool Preparation::make_segment(World* world, std::uint64_t job_id, Refusal* refusal) const {
  std::vector<int> applications;
  for (const Rank& rank : world->ranks) applications.push_back(static_cast<int>(rank.application));
  const int nodes = world->spawned() ? 1 : std::min(options_.nodes, world->size());
  const std::vector<int> node_of_rank = world->placement.spread()
                                            ? world->placement.nodes()
                                            : plan_nodes(world->size(), nodes, options_.node_order);
  if (!world->segment.make(applications, &refusal->text, node_of_rank, job_id)) return false;
  local::JobHeader& header = world->segment.header();
  header.hosts = world->placement.spread() ? header.nodes : 1;
  header.spawn_number = world->number;
  header.universe_size = options_.universe_size > 0 ? options_.universe_size : family_slots_;
  header.family_hosts = family_hosts_;
  header.wants_statistics = options_.statistics != StatisticsForm::kNone ? 1 : 0;
  std::snprintf(header.launcher_socket, local::kSocketBytes, "%s", spawn_socket_.c_str());
  return true;
}

/// Spawned ranks share the processors with those that are bound already, so they are not.
void Preparation::plan_processors(World* world) const {
  if (world->spawned()) {
    world->bindings.reason = "they were spawned";
    return;
  }
  const int available = local::processors_available();
  const int ranks = world->ranks_here();
  if (ranks == 0) return;
  std::vector<Core> cores;
  if (needs_cores(ranks, available, options_.bind_to, options_.report_bindings)) cores = read_cores();
  world->bindings = plan_bindings(cores, ranks, available, options_.bind_to, options_.map_by);
}

std::string bindings_text(World& world, const std::string& host, int nodes) {
  const BindingPlan& bindings = world.bindings;
  if (bindings.processors.empty()) {
    return format("mpiexec: ranks are not bound to processors (%s)", bindings.reason.c_str());
  }
  std::string text;
  std::size_t number = 0;
  for (int rank = 0; rank < world.size(); ++rank) {
    if (!world.ranks[static_cast<std::size_t>(rank)].here) continue;
    const std::vector<int>& processors = bindings.processors[number++];
    const int node = world.segment.rank(rank).node;
    text += format("%smpiexec: rank %d on %s%s is bound to processor%s %s", text.empty() ? "" : "\n", rank,
                   host.c_str(), nodes > 1 ? (".node" + std::to_string(node)).c_str() : "",
                   processors.size() == 1 ? "" : "s", processor_list(processors).c_str());
  }
  return text;
}

}  // namespace tasuki::launch
