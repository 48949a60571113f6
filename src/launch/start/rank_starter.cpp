// One rank after the other: streams, environment, processors, process.
#include "launch/start/rank_starter.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/system/kill_score.hpp"
#include "launch/base/format.hpp"
#include "launch/mapping/processor_set.hpp"
#include "launch/stream/rank_files.hpp"
#include "node/processors.hpp"

namespace tasuki::launch {
namespace {

// What a rank's score is above mpiexec's own: an mpiexec of many small ranks has more memory than each of
// them, but not a tenth of all that there is.
constexpr int kRankKillScore = 100;

/// Two pipes a rank need more descriptors than the usual limit leaves to a large job.
void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::vector<char*> arguments_of(const Application& application) {
  std::vector<char*> arguments;
  for (const std::string& word : application.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

}  // namespace

RankStarter::~RankStarter() {
  if (null_fd_ >= 0) close(null_fd_);
}

/// Not even when mpiexec has most memory, or when all ranks have died and what they share is still being
/// given back.
void RankStarter::spare_launcher() {
  const std::string found = local::read_text(kKillScorePath);
  if (found.empty()) return;
  kill_score_ =
      std::to_string(std::min(std::atoi(found.c_str()) + kRankKillScore, std::atoi(kKillScoreMost)));
  set_kill_score(kKillScoreLeast);  // where that is permitted
}

bool RankStarter::start(World* world, Refusal* refusal) {
  raise_file_limit();
  if (null_fd_ < 0) null_fd_ = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_fd_ < 0) {
    *refusal = {format("cannot open /dev/null: %s", strerror(errno)), 1};
    return false;
  }
  std::size_t number_here = 0;
  for (int rank = 0; rank < world->size(); ++rank) {
    if (!world->ranks[static_cast<std::size_t>(rank)].here) continue;
    if (!start_rank({world, rank}, number_here++, refusal)) return false;
  }
  if (!world->spawned() && options_.stdin_rank != kNoRank && has_input(*world)) streams_.input_is_taken();
  return true;
}

/// Whether the rank that reads standard input is here; one that does not exist counts as such.
bool RankStarter::has_input(const World& world) const {
  const int reader = options_.stdin_rank;
  return reader >= world.size() || world.ranks[static_cast<std::size_t>(reader)].here;
}

bool RankStarter::start_rank(const WorldRank& rank, std::size_t number_here, Refusal* refusal) {
  World& world = *rank.world;
  const std::size_t number = rank.rank().application;
  const Application& application = world.applications[number];
  RankEnvironment& environment = world.environments[number];
  set_variables(rank, &environment);
  const std::vector<char*> arguments = arguments_of(application);
  const std::vector<char*> variables = environment.pointers();

  Start start;
  start.path = world.programs[number].path.c_str();
  start.arguments = arguments.data();
  start.environment = variables.data();
  start.directory = application.directory.empty() ? nullptr : application.directory.c_str();
  start.segment_fd = world.segment.fd();
  start.inherited = &inherited_;
  if (!kill_score_.empty()) start.kill_score = kill_score_.c_str();
  ProcessorSet processors;
  if (!world.bindings.processors.empty()) {
    processors = ProcessorSet(world.bindings.processors[number_here]);
    start.processors = processors.set();
    start.processors_bytes = processors.bytes();
  }

  std::vector<int> to_close;
  Started started;
  const bool connected = connect_outputs(rank, &start, &to_close, refusal);
  if (connected) started = session_.start(start);
  for (const int fd : to_close) close(fd);
  if (!connected) return false;
  if (started.pid < 0) {
    *refusal = cannot_run(rank.number, application.command[0], started.error,
                          format(" (could not %s)", started.step));
    return false;
  }
  processes_.started(rank, started.pid);
  if (options_.verbose) {
    const Placement& placement = world.placement;
    const std::string host =
        placement.spread() ? " on " + placement.hosts[static_cast<std::size_t>(placement.here)] : "";
    console_.say(format("mpiexec: rank %s is pid %d%s, %s", world.rank_name(rank.number).c_str(), started.pid,
                        host.c_str(), start.path));
  }
  return true;
}

void RankStarter::set_variables(const WorldRank& rank, RankEnvironment* environment) const {
  const World& world = *rank.world;
  set_job_variables(*environment,
                    {world.segment.fd(), static_cast<int>(getpid()), world.segment.job_id(), world.size()},
                    rank.number);
  // A thread that waits spins by default, and keeps a processor from ranks that have something to do.
  if (world.ranks_here() > local::processors_available())
    environment->set_if_absent("OMP_WAIT_POLICY", "passive");
  reports_.set_variables(*environment, world, rank.number);
}

bool RankStarter::connect_outputs(const WorldRank& rank, Start* start, std::vector<int>* to_close,
                                  Refusal* refusal) {
  const RankPaths paths = paths_of_rank(options_, rank.world->rank_name(rank.number));
  start->descriptors[0] = standard_input(rank, to_close);
  if (!connect_output(paths.output, rank, STDOUT_FILENO, &start->descriptors[1], to_close, refusal))
    return false;
  if (!paths.error.empty() && paths.error == paths.output) {
    start->descriptors[2] = start->descriptors[1];
    return true;
  }
  return connect_output(paths.error, rank, STDERR_FILENO, &start->descriptors[2], to_close, refusal);
}

/// Gives `fd` the rank's end: a file, or a pipe that a new stream reads.
bool RankStarter::connect_output(const std::string& path, const WorldRank& rank, int stream, int* fd,
                                 std::vector<int>* to_close, Refusal* refusal) {
  const std::string name = rank.world->rank_name(rank.number);
  if (!path.empty()) {
    *fd = create_file(path);
    if (*fd < 0) {
      *refusal = {format("cannot write '%s' for rank %s: %s", path.c_str(), name.c_str(), strerror(errno)),
                  1};
      return false;
    }
  } else {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      *refusal = {format("cannot make a pipe for rank %s: %s", name.c_str(), strerror(errno)), 1};
      return false;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    streams_.take_output(rank, stream, ends[0]);
    *fd = ends[1];
  }
  to_close->push_back(*fd);
  return true;
}

int RankStarter::standard_input(const WorldRank& rank, std::vector<int>* to_close) {
  if (rank.world->spawned() || rank.number != options_.stdin_rank) return null_fd_;
  const int fd = streams_.open_input(to_close);
  return fd >= 0 ? fd : null_fd_;
}

}  // namespace tasuki::launch
