// mbl: measures an MPI library, case by case, and writes a line for each. docs/mbl.md is for users; suite.hpp
// has the nouns, method.hpp the method.
//
// All ranks go through the same list of cases. A case that needs fewer ranks runs on the first ones, while
// the others sleep.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "clock.hpp"
#include "method.hpp"
#include "options.hpp"
#include "rows.hpp"
#include "suite.hpp"

namespace mbl {
namespace {

constexpr int kExitWrongWord = 2;
/// Between two looks of a rank that takes no part: each takes time from those that do.
constexpr std::chrono::milliseconds kIdle(5);

/// How many of `size` ranks the benchmark runs on; 0: it does not.
int ranks_for(const Benchmark& benchmark, int size) {
  int ranks = std::min(size, benchmark.ranks_max);
  if (benchmark.even) ranks -= ranks % 2;
  return ranks < benchmark.ranks_min || ranks == 0 ? 0 : ranks;
}

/// All cases at so many ranks that the options ask for.
std::vector<Case> choose(const Catalogue& catalogue, const Options& options, int size) {
  std::vector<Case> cases;
  for (const Benchmark& benchmark : catalogue) {
    const int ranks = ranks_for(benchmark, size);
    const std::string id = benchmark.id();
    const bool wanted = options.only.empty() ||
                        std::any_of(options.only.begin(), options.only.end(),
                                    [&](const std::string& prefix) { return id.rfind(prefix, 0) == 0; });
    if (ranks == 0 || !wanted) continue;
    for (const std::int64_t bytes : options.quick ? benchmark.quick_bytes : benchmark.bytes) {
      cases.push_back({&benchmark, bytes, ranks});
    }
  }
  return cases;
}

/// A line "ID BYTES" as a case of the catalogue. What is wrong with it goes to `wrong`.
Case read_case(const std::string& line, const Catalogue& catalogue, int size, std::string* wrong) {
  std::istringstream words(line);
  std::string id, rest;
  std::int64_t bytes = -1;
  if (!(words >> id >> bytes) || bytes < 0 || (words >> rest)) {
    *wrong = "expected an id and a number of bytes";
    return {};
  }
  const auto found = std::find_if(catalogue.begin(), catalogue.end(),
                                  [&](const Benchmark& benchmark) { return benchmark.id() == id; });
  if (found == catalogue.end()) {
    *wrong = "no such case (--list has them)";
    return {};
  }
  const int ranks = ranks_for(*found, size);
  if (ranks == 0) {
    *wrong =
        "needs " + std::to_string(found->ranks_min) + " ranks or more, there are " + std::to_string(size);
    return {};
  }
  const auto& listed = found->bytes;
  const bool known = std::find(listed.begin(), listed.end(), bytes) != listed.end();
  if (!known && (listed.back() == 0 || bytes % found->unit != 0)) {
    *wrong = listed.back() == 0 ? "it has no sizes, expected 0"
                                : "expected a multiple of " + std::to_string(found->unit) + " bytes";
    return {};
  }
  return {&*found, bytes, ranks};
}

/// The text of a file that rank 0 can read, at all ranks. Collective; returns false if it cannot.
bool read_at_all(const std::string& path, int rank, std::string* text) {
  int length = -1;
  if (rank == 0) {
    std::ifstream file(path);
    std::ostringstream content;
    if (file && content << file.rdbuf()) *text = content.str();
    if (file) length = static_cast<int>(text->size());
  }
  require(MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
  if (length < 0) return false;
  text->resize(static_cast<std::size_t>(length));
  require(MPI_Bcast(text->data(), length, MPI_CHAR, 0, MPI_COMM_WORLD), "MPI_Bcast");
  return true;
}

/// The communicators of the program, by their number of ranks.
class Places {
 public:
  Places(int rank, int size) : rank_(rank), size_(size) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  ~Places() {
    for (auto& [ranks, place] : places_) {
      if (place.comm == MPI_COMM_NULL) continue;
      MPI_Comm_free(&place.control);
      MPI_Comm_free(&place.comm);
    }
  }

  /// The first `ranks` ranks; `comm` is MPI_COMM_NULL at the others. Collective over MPI_COMM_WORLD.
  const Place& of(int ranks) {
    const auto known = places_.find(ranks);
    if (known != places_.end()) return known->second;
    Place& place = places_[ranks];
    const int color = rank_ < ranks ? 0 : MPI_UNDEFINED;
    require(MPI_Comm_split(MPI_COMM_WORLD, color, rank_, &place.comm), "MPI_Comm_split");
    if (place.comm == MPI_COMM_NULL) return place;
    require(MPI_Comm_dup(place.comm, &place.control), "MPI_Comm_dup");
    place.rank = rank_;
    place.size = ranks;
    place.crowded = is_crowded(place.comm);
    if (!place.crowded) place.lines = std::make_shared<LineState>(place.control);
    place.clock = &clock_;
    if (ranks > synchronised_) clock_.synchronise(place.control);
    synchronised_ = std::max(ranks, synchronised_);
    return place;
  }

  /// Waits until the ranks that took part are done, without taking their processors.
  void meet(const Place& place) const {
    if (place.size == size_ && place.comm != MPI_COMM_NULL) return;
    MPI_Request request = MPI_REQUEST_NULL;
    require(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
    for (int done = 0; done == 0;) {
      require(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done == 0 && place.comm == MPI_COMM_NULL) {
        std::this_thread::sleep_for(kIdle);
      }
    }
  }

 private:
  int rank_, size_, synchronised_ = 0;
  std::map<int, Place> places_;
  Clock clock_;
};

/// Measures one case and writes its row. Wrong data end the program. Collective over MPI_COMM_WORLD.
void run_case(const Case& item, const Options& options, Places& places, Out& out) {
  const Place& place = places.of(item.ranks);
  out.begin(item);
  if (place.comm != MPI_COMM_NULL) {
    const Setting setting{place.comm, place.rank, place.size, item.bytes, options.folder};
    const Measurement made = measure(*item.benchmark, setting, place, options.limits);
    if (made.checked == Checked::kWrong) {
      if (place.rank == 0) {
        std::fprintf(stderr, "mbl: %s: wrong data: %s\n", item.name().c_str(), made.why.c_str());
        std::fflush(stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      MPI_Barrier(place.control);  // rank 0 ends us
    }
    if (made.checked == Checked::kLacking) {
      out.unsupported(item, made.why);
    } else if (place.rank == 0) {
      out.row(item, made);
    }
  }
  places.meet(place);
}

/// The cases that the options ask for. Collective; what is wrong goes to `wrong`.
std::vector<Case> wanted_cases(const Catalogue& catalogue, const Options& options, int rank, int size,
                               std::string* wrong) {
  if (options.cases.empty()) {
    std::vector<Case> cases = choose(catalogue, options, size);
    if (cases.empty())
      *wrong = "no case of that name at " + std::to_string(size) + " ranks (--list has them)";
    return cases;
  }
  std::vector<Case> cases;
  std::string text;
  if (!read_at_all(options.cases, rank, &text)) {
    *wrong = "--cases: cannot read " + options.cases;
    return cases;
  }
  std::istringstream lines(text);
  for (std::string line; wrong->empty() && std::getline(lines, line);) {
    if (line.empty()) continue;
    cases.push_back(read_case(line, catalogue, size, wrong));
    if (!wrong->empty()) *wrong = "--cases: \"" + line + "\": " + *wrong;
  }
  return cases;
}

Catalogue whole_catalogue(double init_seconds, int threads) {
  Catalogue catalogue;
  add_start_up(catalogue, init_seconds);
  add_point_to_point(catalogue);
  add_overlapped_messages(catalogue);
  add_threads(catalogue, threads);
  add_collectives(catalogue);
  add_concurrent(catalogue);
  add_rma(catalogue);
  add_overlapped_accesses(catalogue);
  add_io(catalogue);
  add_limits(catalogue);
  return catalogue;
}

/// All but those that are for the program's end. Collective over MPI_COMM_WORLD.
void run_cases(const std::vector<Case>& cases, const Options& options, int rank, int size, Out& out) {
  Places places(rank, size);
  for (const Case& item : cases) {
    if (!item.benchmark->at_end) run_case(item, options, places, out);
  }
}

/// Ends MPI, which is a case itself where the list has it, and the rows.
void finish(const std::vector<Case>& cases, int rank, Out& out) {
  const auto last =
      std::find_if(cases.begin(), cases.end(), [](const Case& item) { return item.benchmark->at_end; });
  if (last == cases.end()) {
    MPI_Finalize();
  } else {
    out.begin(*last);
    Measurement made;
    made.seconds = {last->benchmark->once()};
    if (rank == 0) out.row(*last, made);
  }
  out.end();
}

/// Says what is wrong, and ends MPI. Returns the exit status.
int refuse(const std::string& wrong, int rank) {
  if (rank == 0) std::fprintf(stderr, "mbl: %s\n", wrong.c_str());
  MPI_Finalize();
  return kExitWrongWord;
}

/// Begins MPI as the options say. Returns whether it gives what they ask for.
bool begin(int* argc, char*** argv, const Options& options) {
  if (!options.thread_multiple) {
    MPI_Init(argc, argv);
    return true;
  }
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  return provided == MPI_THREAD_MULTIPLE;
}

/// What mbl is for, between MPI_Init and the end. Returns the exit status.
int run(const Options& options, double init_seconds) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!options.wrong.empty()) return refuse(options.wrong, rank);
  if (options.help) {
    if (rank == 0) std::fputs(kHelp, stdout);
    MPI_Finalize();
    return 0;
  }
  const Catalogue catalogue = whole_catalogue(init_seconds, options.threads);
  std::string wrong;
  const std::vector<Case> cases = wanted_cases(catalogue, options, rank, size, &wrong);
  if (!wrong.empty()) return refuse(wrong, rank);
  Out out;
  int opened = rank == 0 ? out.open(options.out) : 1;
  require(MPI_Bcast(&opened, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
  if (opened == 0) return refuse("--out: cannot write " + options.out, rank);
  if (options.list) {
    for (const Case& item : cases) out.list(item);
    MPI_Finalize();
    return 0;
  }
  run_cases(cases, options, rank, size, out);
  finish(cases, rank, out);
  return 0;
}

}  // namespace
}  // namespace mbl

int main(int argc, char** argv) {
  mbl::Options options = mbl::read_options(argc, argv);
  const double before = mbl::monotonic_seconds();
  const bool begun = mbl::begin(&argc, &argv, options);
  const double init_seconds = mbl::monotonic_seconds() - before;
  if (!begun && options.wrong.empty())
    options.wrong = "--thread-multiple: this MPI does not give MPI_THREAD_MULTIPLE";
  return mbl::run(options, init_seconds);
}
