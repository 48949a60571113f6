// Snapshot: what is known of each rank at one moment, as plain data: what the analysis (diagnose.hpp) works
// on. mpiexec takes one by looking at the ranks' boards, at /proc and at debug information.
//
// A rank that waits has answered with a report; one that computes has not, and its line is all there is.
// Nothing of a board is trusted: read_board() takes over only what makes sense. A snapshot
// is a value and shares nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/calls/call_board.hpp"

namespace tasuki {
enum class Function : std::uint16_t;  // base/calls/function.hpp
}

namespace tasuki::doctor {

enum class Life : std::uint8_t {
  kStarted,    // its program runs and has not called MPI_Init
  kJoining,    // inside MPI_Init
  kRunning,    // between MPI_Init and MPI_Finalize
  kFinalized,  // after MPI_Finalize; its program runs
  kEnded,      // the process is gone: `wait_status`
};

/// A place in a program, as its debug information tells it.
struct Place {
  std::string text;  // "ring.c:42", or "solve() in ring", or "ring"; empty: unknown
  std::string function;
  std::string file;  // the whole path; empty: unknown
  int line = 0;
  std::string module;  // the path of the program or library
};

/// The CallLine as numbers.
struct Line {
  std::uint64_t word = 0;  // 0: no call yet
  std::uint64_t calls = 0;
  Function function{};  // of the call that it is in, or of the last one
  bool inside = false;
  std::uint64_t site = 0;
  std::int32_t peer = 0;  // in the communicator, as the program gave it
  std::int32_t tag = 0;
  std::int64_t count = 0;
  std::uint64_t moves = 0;
};

struct RankState {
  int pid = 0;
  Life life = Life::kStarted;
  bool stopped = false;       // by a signal or a debugger
  int wait_status = 0;        // as of waitpid, of a rank that ended; -1: not known
  bool ended_in_mpi = false;  // it ended between MPI_Init and the end of MPI_Finalize
  Line line;
  std::optional<RankReport> report;       // the answer to this question; none: it did not answer
  std::map<std::uint64_t, Place> places;  // of addresses(), as far as they are known
  std::vector<Place> stack;               // of a rank that did not answer, inner frames first
};

struct World {
  int number = 0;                // 0: the command line's; the others are those of spawns
  std::vector<RankState> ranks;  // [rank]
};

struct Snapshot {
  std::int64_t at_ns = 0;  // CLOCK_MONOTONIC
  std::vector<World> worlds;
};

/// Reads a rank's board: its line, and its report if that answers question `asked` or a later one. What is
/// out of range is replaced by "unknown", texts are ended, numbers of entries cut to what there is.
/// `world_size`: the ranks that a report may name.
void read_board(const CallBoard& board, int world_size, std::uint64_t asked, RankState* state);

/// The addresses in the rank's program whose places are worth knowing: of its present or last call and of
/// the calls that began what is open. No 0, each once.
std::vector<std::uint64_t> addresses(const RankState& state);

}  // namespace tasuki::doctor
