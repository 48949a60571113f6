// The benchmark suite's nouns: a Benchmark is a pattern of MPI calls in one variant, over a list of sizes; a
// Pattern is that at one size, ready to be timed. The groups (point_to_point.cpp, collectives.cpp, …) define
// patterns and enter them in the Catalogue; method.hpp times them, program.cpp says which, and writes rows.
//
// Plain MPI: of the library under test it knows <mpi.h> alone. One thread, but in threads.cpp. Everything
// here is collective over Setting::comm: all its ranks make, run and destroy the same patterns in the same
// order. docs/mbl.md is for users.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "buffers.hpp"

namespace mbl {

/// Where a pattern runs. `comm` has all ranks that take part (MPI_COMM_WORLD's, or its first `size`).
struct Setting {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  std::int64_t bytes = 0;  // Benchmark::bytes' unit: what one rank sends to one other, or the whole vector
  std::string folder;      // where files may be made; the group io alone uses it
};

/// What a pattern tells beside its time: "overlap" -> 0.8, "exchange_seconds" -> 1e-3. Of rank 0.
using Notes = std::vector<std::pair<std::string, double>>;

/// A pattern at one size. The constructor sets up what it needs (buffers, types, windows, files); the
/// destructor frees it. Neither is timed.
class Pattern {
 public:
  Pattern() = default;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  virtual ~Pattern() = default;

  /// Before each sample, untimed: touches or fills buffers, posts what has to be posted for `rounds` rounds.
  /// No rank runs before all have prepared.
  virtual void prepare([[maybe_unused]] int rounds) {}
  /// The timed part: the operation `rounds` times, back to back. Returns only when this rank's part is done.
  virtual void run(int rounds) = 0;
  /// After each sample, untimed.
  virtual void settle() {}
  /// Fills the buffers with what is known, runs one round, and looks at every byte that should have come.
  /// Returns what is wrong on this rank, empty when all is well. kNotChecked: the pattern moves no data.
  virtual std::string check() = 0;
  virtual Notes notes() { return {}; }
  /// The constructor names the buffers, run() writes and reads them; on in samples of data in use alone.
  Use& use() { return use_; }

 protected:
  Use use_;
};

inline const char kNotChecked[] = "-";

/// What check() returns begins so where this MPI lacks what the pattern needs, and says what that is. The
/// case is told as unsupported and not timed, and that is no failure.
inline const char kUnsupported[] = "unsupported: ";

/// Whose time counts. kFirst: that of the setting's rank 0, from its own begin to its own end (ping-pong,
/// latency, ping). kSlowest: from the common begin, by synchronised clocks, until the last rank has ended.
enum class Who { kFirst, kSlowest };

/// A benchmark in one variant.
struct Benchmark {
  std::string group;    // "point_to_point"
  std::string name;     // "pingpong"
  std::string variant;  // "mode=send,memory=malloc": name=value joined by commas, in a fixed order; or empty
  std::string doc;      // one line: what one operation is
  std::vector<std::int64_t> bytes;        // its sizes, ascending; {0} where there is none
  std::vector<std::int64_t> quick_bytes;  // those of --quick; empty: it is left out there
  std::int64_t unit = 1;                  // a size that is not among them has to be a multiple of this
  int ranks_min = 1;
  int ranks_max = 1 << 30;  // of more, the first ones take part
  bool even = false;        // needs an even number of ranks
  Who who = Who::kSlowest;
  int rounds_max = 1 << 20;  // in a sample
  bool touched = false;      // data are in use: ranks write what they give and read what they get (Use)
  double divisor = 1;        // a round's time counts for this many operations: 2 of a ping-pong
  /// Throughput is factor(size) * bytes / seconds (throughput-model: ping-pong 1, allreduce 2, allgather np).
  std::function<double(int size)> factor = [](int) { return 1.0; };
  std::function<std::unique_ptr<Pattern>(const Setting&)> make;
  /// Instead of `make`: what happens once in a process and is over. Returns the seconds that it took here;
  /// the ranks' are the samples.
  std::function<double()> once;
  bool at_end =
      false;  // `once` is called when all else is done; after it there is no MPI, so rank 0's counts alone

  /// "point_to_point/pingpong/mode=send,memory=malloc"; with the size it names a case.
  std::string id() const { return group + "/" + name + (variant.empty() ? "" : "/" + variant); }
};

using Catalogue = std::vector<Benchmark>;

// One file each, and one for what overlaps.
void add_point_to_point(Catalogue& catalogue);
void add_overlapped_messages(Catalogue& catalogue);
/// With 1, 2, 4, … threads a rank, up to so many.
void add_threads(Catalogue& catalogue, int threads_max);
void add_collectives(Catalogue& catalogue);
void add_concurrent(Catalogue& catalogue);
void add_rma(Catalogue& catalogue);
void add_overlapped_accesses(Catalogue& catalogue);
void add_io(Catalogue& catalogue);
void add_limits(Catalogue& catalogue);
void add_start_up(Catalogue& catalogue, double init_seconds);

/// Enters a benchmark with data in use, "touched=yes". Where `untouched` has sizes, also with buffers that
/// nobody touches between the calls, "touched=no": with --quick those sizes alone.
void add_in_use(Catalogue& catalogue, Benchmark benchmark, const std::vector<std::int64_t>& untouched = {});
/// With buffers that nobody touches alone.
void add_untouched(Catalogue& catalogue, Benchmark benchmark);

/// {4, 8, … } powers of two from `first` to `last`, and 0 before them where `first` is 0 (then from 1 on).
std::vector<std::int64_t> powers_of_two(std::int64_t first, std::int64_t last);

/// Ends the program with a line on standard error if `code` is an error: the errors of files are returned.
void require(int code, const char* call);

}  // namespace mbl
