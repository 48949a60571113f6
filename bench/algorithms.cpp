// Algorithms of a collective, forced in turn: seconds of one call at the rank that took longest, of data that
// programs write and read (operations.hpp). All in one process, in short batches that take turns, so that all
// meet the same machine. Algorithms and segments are
// forced by Tasuki's control variables of MPI_T; which algorithm ran is told by its counters. The package
// tasuki.tuning runs it.
//
//   algorithms CASE...     a CASE is OPERATION:BYTES:TURNS:SERIES,SERIES,...
//
// A SERIES is ALGORITHM, ALGORITHM/SEGMENT_BYTES, or "cheapest", the library's own choice (not together with
// segments, since a setting cannot be taken back). TURNS are the batches of each series; with none nothing is
// timed, but every series runs: with TASUKI_EXPLAIN=1 the library says what it chose and predicted. A series
// that is far slower than the best of its case gets no more than a first short batch.
//
// A line of JSON for each case as it ends: {"operation": "bcast", "bytes": 8, "ranks": 2, "rows":
// [{"series": "chain/4096", "algorithm": "chain", "seconds": [...]}, ...]}. Where an algorithm was not
// possible, its series is left out.
#include <map>
#include <string>
#include <thread>

#include "operations.hpp"
#include "words.hpp"

namespace {

constexpr double kTurnSeconds = 0.004;  // about that of the system's scheduler
constexpr double kHopeless = 3;         // times as slow as the best: no candidate, and costly to measure
constexpr double kAgainSeconds = 2 * kTurnSeconds;  // of a second look at a series that seems to be hopeless
constexpr int kAgainMax = 3;
constexpr double kRoundsMax = 20000;
constexpr double kLongCallSeconds = 0.005;  // a batch of such calls needs no more than two
constexpr int kTurnsMax = 1000;

/// An algorithm, and the bytes of its segments: 0 where it has none.
struct Asked {
  std::string name;
  std::size_t algorithm;  // its place among Algorithms::names()
  unsigned long segment_bytes;
};

/// The control variables that force the algorithm of an operation, and the counters of its algorithms.
class Algorithms {
 public:
  explicit Algorithms(std::string operation) {
    const std::string blocks = "_block";
    if (operation.ends_with(blocks)) operation.resize(operation.size() - blocks.size());
    std::string setting = "TASUKI_" + operation + "_ALGORITHM";
    for (char& letter : setting) letter = static_cast<char>(std::toupper(letter));
    int index = 0, count = 0;
    if (MPI_T_cvar_get_index(setting.c_str(), &index) != MPI_SUCCESS) return;
    MPI_T_enum items = MPI_T_ENUM_NULL;
    int length = 0, verbosity = 0, bind = 0, scope = 0, description_length = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_cvar_get_info(index, nullptr, &length, &verbosity, &type, &items, nullptr, &description_length,
                        &bind, &scope);
    MPI_T_cvar_handle_alloc(index, nullptr, &forced_, &count);
    if (MPI_T_cvar_get_index("TASUKI_SEGMENT_BYTES", &index) == MPI_SUCCESS)
      MPI_T_cvar_handle_alloc(index, nullptr, &segments_, &count);
    MPI_T_pvar_session_create(&session_);
    take_names(operation, items);
  }
  ~Algorithms() {
    for (MPI_T_cvar_handle* handle : {&forced_, &segments_})
      if (*handle != MPI_T_CVAR_HANDLE_NULL) MPI_T_cvar_handle_free(handle);
    if (session_ != MPI_T_PVAR_SESSION_NULL) MPI_T_pvar_session_free(&session_);
  }
  Algorithms(const Algorithms&) = delete;
  Algorithms& operator=(const Algorithms&) = delete;

  /// The first name stands for the library's own choice.
  const std::vector<std::string>& names() const { return names_; }
  void force(const Asked& asked) {
    unsigned long bytes = asked.segment_bytes;
    if (bytes != 0) MPI_T_cvar_write(segments_, &bytes);
    MPI_T_cvar_write(forced_, &values_[asked.algorithm]);
  }
  void force_nothing() { MPI_T_cvar_write(forced_, &values_[0]); }

  /// How often each has run; as many as names.
  std::vector<unsigned long long> counts() const {
    std::vector<unsigned long long> all(names_.size(), 0);
    for (std::size_t i = 1; i < all.size(); ++i) MPI_T_pvar_read(session_, counters_[i], &all[i]);
    return all;
  }

 private:
  void take_names(const std::string& operation, MPI_T_enum items) {
    int count = 0, length = 0;
    MPI_T_enum_get_info(items, &count, nullptr, &length);
    for (int i = 0; i < count; ++i) {
      char name[64];
      int value = 0, index = 0, elements = 0;
      length = sizeof name;
      MPI_T_enum_get_item(items, i, &value, name, &length);
      MPI_T_pvar_handle counter = MPI_T_PVAR_HANDLE_NULL;
      if (i > 0 && MPI_T_pvar_get_index((operation + "_" + name).c_str(), MPI_T_PVAR_CLASS_COUNTER, &index) ==
                       MPI_SUCCESS) {
        MPI_T_pvar_handle_alloc(session_, index, nullptr, &counter, &elements);
        MPI_T_pvar_start(session_, counter);
      }
      names_.push_back(name);
      values_.push_back(value);
      counters_.push_back(counter);
    }
  }

  MPI_T_cvar_handle forced_ = MPI_T_CVAR_HANDLE_NULL, segments_ = MPI_T_CVAR_HANDLE_NULL;
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  std::vector<std::string> names_;
  std::vector<int> values_;
  std::vector<MPI_T_pvar_handle> counters_;
};

/// One word of the command line, and the algorithms of its operation.
struct Case {
  const bench::Operation* operation;
  std::size_t bytes;
  int turns;
  std::vector<Asked> series;
};

struct Series {
  Asked asked;
  std::size_t ran;  // which algorithm that was
  int rounds = 2;
  std::vector<double> seconds;
};

[[noreturn]] void refuse(const std::string& word, const std::string& reason) {
  refuse_word("algorithms", word, reason);
}

unsigned long number_of(const char* word, const std::string& text, unsigned long max) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text.c_str(), &end, 10);
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0])) || *end != '\0' || value > max)
    refuse(word, "\"" + text + "\", expected a number from 0 to " + std::to_string(max));
  return value;
}

Asked series_of(const char* word, const std::string& text, const Algorithms& algorithms) {
  const auto parts = split(text, '/');
  const auto& names = algorithms.names();
  const auto found = std::find(names.begin(), names.end(), parts[0]);
  if (found == names.end() || parts.size() > 2) refuse(word, "there is no algorithm \"" + text + "\"");
  const unsigned long segment_bytes =
      parts.size() == 2 ? number_of(word, parts[1], bench::kBlockBytesMax) : 0;
  return {text, static_cast<std::size_t>(found - names.begin()), segment_bytes};
}

Case case_of(const char* word, std::map<std::string, Algorithms>& known) {
  const auto parts = split(word, ':');
  if (parts.size() != 4) refuse(word, "expected OPERATION:BYTES:TURNS:SERIES,SERIES,...");
  Case asked{nullptr,
             number_of(word, parts[1], bench::kBlockBytesMax),
             static_cast<int>(number_of(word, parts[2], kTurnsMax)),
             {}};
  for (const bench::Operation& operation : bench::kOperations)
    if (operation.name == parts[0]) asked.operation = &operation;
  if (asked.operation == nullptr) refuse(word, "there is no operation \"" + parts[0] + "\"");
  if (asked.bytes % sizeof(double) != 0) refuse(word, "expected bytes that are a multiple of 8");
  const Algorithms& algorithms = known.try_emplace(parts[0], parts[0]).first->second;
  for (const std::string& text : split(parts[3], ','))
    asked.series.push_back(series_of(word, text, algorithms));
  return asked;
}

/// To force an algorithm takes each rank a while, in which it thinks of limits; so some calls come before
/// those that count.
double seconds_of_calls(Algorithms& algorithms, const Asked& asked, int rounds, bench::Calls& of) {
  MPI_Barrier(MPI_COMM_WORLD);
  algorithms.force(asked);
  for (int round = 0; round < 3; ++round) of.call();
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = of.seconds(rounds);
  algorithms.force_nothing();
  return seconds;
}

/// Which algorithm runs when one is forced; 0 where none is counted. A few calls, to warm up.
std::size_t algorithm_of(Algorithms& algorithms, const Asked& asked, bench::Calls& of) {
  const auto before = algorithms.counts();
  seconds_of_calls(algorithms, asked, 0, of);
  const auto after = algorithms.counts();
  // The barrier's own algorithms are counted too, when the barrier is what is measured: the most is what was
  // called.
  std::size_t most = 0;
  for (std::size_t i = 1; i < after.size(); ++i) {
    if (after[i] - before[i] > after[most] - before[most]) most = i;
  }
  return most;
}

/// Seconds of a call in a batch of `rounds`, as all ranks agree.
double trial(const Series& series, int rounds, Algorithms& algorithms, bench::Calls& of) {
  double seconds = seconds_of_calls(algorithms, series.asked, rounds, of);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds + 1e-9;
}

bool is_crowd(int ranks) {
  return ranks > static_cast<int>(std::thread::hardware_concurrency());
}

/// Batches of more and more rounds, until one fills a turn; in a crowd, until twice as many do not make a
/// call much shorter. An algorithm that fills a turn and takes far longer than `best` is dropped. Sets the
/// rounds of a turn, and returns the seconds of a call.
double grow(Series& series, double best, Algorithms& algorithms, bench::Calls& of, int ranks) {
  double rounds = 2;
  bool sure = !is_crowd(ranks);
  double seconds = trial(series, 2, algorithms, of);
  while (seconds < kLongCallSeconds && rounds < kRoundsMax) {
    double wanted = kTurnSeconds / seconds;
    if (wanted <= rounds) {
      if (sure || seconds > 2 * kHopeless * best) break;
      sure = true;
      wanted = 2 * rounds;
    }
    rounds = std::min({wanted, 8 * rounds, kRoundsMax});
    const double before = seconds;
    seconds = std::min(seconds, trial(series, static_cast<int>(rounds), algorithms, of));
    if (seconds < 0.7 * before) sure = !is_crowd(ranks);
  }
  series.rounds = static_cast<int>(std::clamp(kTurnSeconds / seconds, 2.0, kRoundsMax));
  return seconds;
}

/// Another look at a series that seems to be hopeless: where another process has had the processor for some
/// milliseconds amid its few first calls, they all look slow. More calls at once tell, and again for as long
/// as they make a call much shorter.
double look_again(Series& series, double seconds, double best, Algorithms& algorithms, bench::Calls& of) {
  for (int look = 0; look < kAgainMax && seconds > kHopeless * best; ++look) {
    const double rounds = std::clamp(kAgainSeconds / seconds, 2.0, kTurnSeconds / best + 2);
    const double now = trial(series, static_cast<int>(rounds), algorithms, of);
    const bool is_so = now > 0.7 * seconds;
    seconds = std::min(seconds, now);
    if (is_so) break;
  }
  series.rounds = static_cast<int>(std::clamp(kTurnSeconds / seconds, 2.0, kRoundsMax));
  return seconds;
}

/// How many rounds make a turn of each, and whether there is to be one: of series that are hopeless the
/// batches that tell so are all.
void calibrate(std::vector<Series>& all, Algorithms& algorithms, bench::Calls& of, int ranks) {
  double best = 1e9;
  std::vector<double> firsts;
  for (Series& series : all) {
    firsts.push_back(grow(series, best, algorithms, of, ranks));
    best = std::min(best, firsts.back());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (firsts[i] <= kHopeless * best) continue;
    firsts[i] = look_again(all[i], firsts[i], best, algorithms, of);
    if (firsts[i] <= kHopeless * best) continue;  // it was one bad moment
    all[i].seconds = {firsts[i]};
    all[i].rounds = 0;
  }
}

void print(const Case& asked, int ranks, const std::vector<std::string>& names,
           const std::vector<Series>& all) {
  std::printf("{\"operation\": \"%s\", \"bytes\": %zu, \"ranks\": %d, \"rows\": [", asked.operation->name,
              asked.bytes, ranks);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::printf("%s{\"series\": \"%s\", \"algorithm\": \"%s\", \"seconds\": [", i == 0 ? "" : ", ",
                all[i].asked.name.c_str(), names[all[i].ran].c_str());
    for (std::size_t turn = 0; turn < all[i].seconds.size(); ++turn)
      std::printf("%s%.4e", turn == 0 ? "" : ", ", all[i].seconds[turn]);
    std::printf("]}");
  }
  std::printf("]}\n");
  std::fflush(stdout);
}

void measure(const bench::Place& place, const Case& asked, Algorithms& algorithms) {
  bench::Calls of(*asked.operation, asked.bytes, place);
  std::vector<Series> all;
  for (const Asked& one : asked.series) {
    const std::size_t ran = algorithm_of(algorithms, one, of);
    if (ran != 0 && (one.algorithm == 0 || ran == one.algorithm)) all.push_back({one, ran, 2, {}});
  }
  if (asked.turns > 0) calibrate(all, algorithms, of, place.size);
  for (int turn = 0; turn < asked.turns; ++turn) {  // to and fro: none always comes after the same one
    for (std::size_t i = 0; i < all.size(); ++i) {
      Series& series = all[turn % 2 == 0 ? i : all.size() - 1 - i];
      if (series.rounds == 0) continue;
      series.seconds.push_back(seconds_of_calls(algorithms, series.asked, series.rounds, of));
    }
  }
  for (Series& series : all) {
    std::vector<double> slowest(series.seconds.size());
    MPI_Reduce(series.seconds.data(), slowest.data(), static_cast<int>(slowest.size()), MPI_DOUBLE, MPI_MAX,
               0, MPI_COMM_WORLD);
    series.seconds = slowest;
  }
  if (place.rank == 0) print(asked, place.size, algorithms.names(), all);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  const bench::Place place(MPI_COMM_WORLD);
  {
    std::map<std::string, Algorithms> known;
    std::vector<Case> cases;
    for (int i = 1; i < argc; ++i) cases.push_back(case_of(argv[i], known));
    for (const Case& asked : cases) measure(place, asked, known.at(asked.operation->name));
  }
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
