// spam: the command. All ranks read the same command line and the same input, which rank 0 reads for all.
//
// The exit status is 0, 1 after an error, and 2 after a usage error. An error that all ranks know is told by
// rank 0 in one line; one that a single rank met in the middle of a step is told by that rank, which ends the
// job.
#include <fmt/format.h>
#include <mpi.h>
#include <omp.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <limits>
#include <string>

#include "agree.hpp"
#include "command_line.hpp"
#include "directory.hpp"
#include "error.hpp"
#include "force.hpp"
#include "force_table.hpp"
#include "input.hpp"
#include "run.hpp"
#include "text_file.hpp"
#include "words.hpp"

namespace spam {
namespace {

struct World {
  MPI_Comm comm = MPI_COMM_WORLD;
  int rank = 0, ranks = 1;
  int thread_level = MPI_THREAD_SINGLE;
};

/// The same text on all ranks.
std::string read_everywhere(const World& world, const std::string& file) {
  std::string text, trouble;
  if (world.rank == 0) {
    try {
      text = read_text(file);
    } catch (const Error& error) {
      trouble = error.what();
    }
  }
  agree(world.comm, trouble);
  long long bytes = static_cast<long long>(text.size());
  MPI_Bcast(&bytes, 1, MPI_LONG_LONG, 0, world.comm);
  text.resize(static_cast<std::size_t>(bytes));
  MPI_Bcast(text.data(), static_cast<int>(bytes), MPI_CHAR, 0, world.comm);
  return text;
}

/// Rank 0's, where the input says 0: environments may differ.
int resolve_threads(const World& world, int threads) {
  if (threads == 0) threads = std::getenv("OMP_NUM_THREADS") == nullptr ? 1 : omp_get_max_threads();
  MPI_Bcast(&threads, 1, MPI_INT, 0, world.comm);
  return threads;
}

void check(const World& world, const Settings& settings) {
  const Grid grid = grid_of(settings);
  if (world.ranks > grid.columns)
    throw Error(
        fmt::format("{}: space.width and space.cell_size make {} columns of cells for {} ranks; expected at "
                    "least one column for each rank",
                    settings.file, grid.columns, world.ranks));
  if (settings.parallel.threads > 1 && world.thread_level < MPI_THREAD_FUNNELED && world.rank == 0)
    fmt::print(stderr,
               "spam: this MPI library gives less than MPI_THREAD_FUNNELED; {} threads may not be safe\n",
               settings.parallel.threads);
}

void tell_what_runs(const World& world, const Settings& settings) {
  const Grid grid = grid_of(settings);
  const Parallel& parallel = settings.parallel;
  fmt::print("{}: {} particles, {} x {} cells, {} steps\n{} {} x {} {}, engine {}, mapping {}, halo {}\n",
             settings.file, settings.initial.particles, grid.columns, grid.rows, settings.integration.steps,
             world.ranks, world.ranks == 1 ? "rank" : "ranks", parallel.threads,
             parallel.threads == 1 ? "thread" : "threads", word_of(parallel.engine), parallel.mapping,
             word_of(parallel.halo));
  std::fflush(stdout);
}

void write_forces(const World& world, const Command& command, const Settings& settings) {
  std::string trouble;
  if (world.rank == 0 && !command.overwrite && std::filesystem::exists(command.output))
    trouble =
        fmt::format("--output {}: is there already; expected another name, or --overwrite", command.output);
  agree(world.comm, trouble);
  write_force_table(world.comm, settings, command.output);
}

void execute(const World& world, const Command& command) {
  Settings settings =
      parse_input(read_everywhere(world, command.input), command.input, command.overrides, command.unsafe);
  settings.parallel.threads = resolve_threads(world, settings.parallel.threads);
  settings.output.directory = command.output;
  check(world, settings);
  if (settings.parallel.engine == Engine::kList && settings.parallel.update == Update::kNone)
    settings.output.energy_tolerance = settings.output.momentum_tolerance =
        std::numeric_limits<double>::infinity();  // wrong on purpose
  if (command.kind == Command::Kind::kForces) return write_forces(world, command, settings);
  Earlier earlier = command.restart.empty() ? Earlier::kRemove : Earlier::kKeep;
  if (!command.overwrite) earlier = Earlier::kRefuse;
  prepare_directory(world.comm, settings.output.directory, earlier);
  if (world.rank == 0 && !command.quiet) tell_what_runs(world, settings);
  run(world.comm, settings, {command.restart, command.quiet});
}

/// The exit status.
int guarded(const World& world, const Command& command) {
  if (command.kind == Command::Kind::kNone) return command.status;
  try {
    execute(world, command);
    return 0;
  } catch (const Error& error) {
    if (world.rank == 0) fmt::print(stderr, "spam: {}\n", error.what());
    return 1;
  } catch (const std::exception& error) {  // RankError, and what only one rank may have met: no memory
    fmt::print(stderr, "spam: rank {}: {}\n", world.rank, error.what());
    MPI_Abort(world.comm, 1);
    return 1;
  }
}

}  // namespace
}  // namespace spam

int main(int argc, char** argv) {
  spam::become_tool(argv);
  spam::World world;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &world.thread_level);
  MPI_Comm_rank(world.comm, &world.rank);
  MPI_Comm_size(world.comm, &world.ranks);
  const spam::Command command = spam::parse_command_line(argc, argv, world.rank == 0);
  const int status = spam::guarded(world, command);
  MPI_Finalize();
  return status;
}
