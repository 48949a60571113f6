// Seconds of one call of collectives at the rank that took longest, in plain MPI, of data that programs write
// and read (bench/operations.hpp): whatever algorithm the library takes. bench/regret_peers.py runs it, once
// for each setting, and bench/network.py.
//
//   collective_times TURNS CASE...     a CASE is OPERATION:BYTES, as bench/operations.hpp names them
//
// A turn is a batch of calls, one right after the other, of some milliseconds; of OPERATION:BYTES:CALLS so
// many calls, 1 for times in which no call overlaps the next. A line of JSON for each case:
// {"operation": "bcast", "bytes": 8, "ranks": 2, "seconds": [...], "line_ns": [before, after]}, a number for
// each turn, and what a cache line took from rank 0 to rank 1 and back.
#include <string>

#include "line_state.hpp"
#include "operations.hpp"
#include "words.hpp"

namespace {

constexpr double kTurnSeconds = 0.003;
constexpr double kCallsMax = 20000;

struct Case {
  const bench::Operation* operation = nullptr;
  std::size_t bytes = 0;
  int calls = 0;  // of a turn; 0: what takes some milliseconds
};

Case case_of(const char* word) {
  const auto parts = split(word, ':');
  Case asked;
  for (const bench::Operation& operation : bench::kOperations)
    if (operation.name == parts[0]) asked.operation = &operation;
  if (asked.operation == nullptr || parts.size() < 2 || parts.size() > 3)
    refuse_word("collective_times", word, "expected OPERATION:BYTES or OPERATION:BYTES:CALLS");
  asked.bytes = std::strtoul(parts[1].c_str(), nullptr, 10);
  if (asked.bytes % sizeof(double) != 0 || asked.bytes > bench::kBlockBytesMax)
    refuse_word("collective_times", word, "expected bytes that are a multiple of 8, at most 64 MiB");
  if (parts.size() == 3) asked.calls = std::atoi(parts[2].c_str());
  if (parts.size() == 3 && asked.calls < 1)
    refuse_word("collective_times", word, "expected calls, at least 1");
  return asked;
}

/// Seconds of a call in a batch of them, as all ranks agree.
double seconds_of_calls(bench::Calls& of, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = of.seconds(calls);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds + 1e-9;
}

/// How many calls take kTurnSeconds.
int calls_of_a_turn(bench::Calls& of) {
  double calls = 2, seconds = seconds_of_calls(of, 2);
  while (calls * seconds < kTurnSeconds && calls < kCallsMax) {
    calls = std::min({8 * calls, 1 + kTurnSeconds / seconds, kCallsMax});
    seconds = std::min(seconds, seconds_of_calls(of, static_cast<int>(calls)));
  }
  return static_cast<int>(calls);
}

void measure(const bench::Place& place, const Case& asked, int turns, bench::LineState& lines) {
  const double before_ns = lines.nanoseconds();
  bench::Calls of(*asked.operation, asked.bytes, place);
  const int calls = asked.calls != 0 ? asked.calls : calls_of_a_turn(of);
  std::string text;
  for (int turn = 0; turn < turns; ++turn) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.4e", turn == 0 ? "" : ", ", seconds_of_calls(of, calls));
    text += number;
  }
  const double after_ns = lines.nanoseconds();
  if (place.rank != 0) return;
  std::printf(
      "{\"operation\": \"%s\", \"bytes\": %zu, \"ranks\": %d, \"seconds\": [%s], \"line_ns\": [%.0f, "
      "%.0f]}\n",
      asked.operation->name, asked.bytes, place.size, text.c_str(), before_ns, after_ns);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bench::Place place(MPI_COMM_WORLD);
  const int turns = argc > 1 ? std::atoi(argv[1]) : 0;
  if (turns < 1) refuse_word("collective_times", argc > 1 ? argv[1] : "", "expected a number of turns");
  {
    bench::LineState lines;
    for (int i = 2; i < argc; ++i) measure(place, case_of(argv[i]), turns, lines);
  }
  MPI_Finalize();
  return 0;
}
