// Every algorithm of a collective, forced in turn, and the library's own choice: seconds of one call at the
// rank that took longest. All in one process, in short batches that take turns, so that all meet the same
// machine. Algorithms are forced by Tasuki's control variables of MPI_T; which one ran is told by its
// counters.
//
//   algorithms                    every operation that has a choice, at the sizes of the grid
//   algorithms bcast reduce 8 64  these operations (without any: all) at these sizes
//
// A line of JSON for each: {"operation": "bcast", "bytes": 8, "ranks": 2, "algorithm": "binomial",
// "own_choice": false, "seconds": [...]}. An algorithm that is not possible for the case is left out. With
// TASUKI_EXPLAIN=1 the library says what time it predicted.
#include <map>
#include <string>

#include "measure.hpp"
#include "operations.hpp"

namespace {

constexpr int kTurns = 9;
constexpr double kTurnSeconds = 0.004;  // about that of the system's scheduler
constexpr std::size_t kGrid[] = {8, 256, 4 << 10, 32 << 10, 256 << 10, 1 << 20};

/// The control variable that forces the algorithm of an operation, and the counters of its algorithms.
class Algorithms {
 public:
  explicit Algorithms(std::string operation) {
    const std::string blocks = "_block";
    if (operation.ends_with(blocks)) operation.resize(operation.size() - blocks.size());
    std::string setting = "TASUKI_" + operation + "_ALGORITHM";
    for (char& letter : setting) letter = static_cast<char>(std::toupper(letter));
    int index = 0, count = 0, length = 0, verbosity = 0, bind = 0, scope = 0;
    if (MPI_T_cvar_get_index(setting.c_str(), &index) != MPI_SUCCESS) return;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum items = MPI_T_ENUM_NULL;
    int description_length = 0;
    MPI_T_cvar_get_info(index, nullptr, &length, &verbosity, &type, &items, nullptr, &description_length,
                        &bind, &scope);
    MPI_T_cvar_handle_alloc(index, nullptr, &forced_, &count);
    MPI_T_pvar_session_create(&session_);
    take_names(operation, items);
  }
  ~Algorithms() {
    if (forced_ != MPI_T_CVAR_HANDLE_NULL) MPI_T_cvar_handle_free(&forced_);
    if (session_ != MPI_T_PVAR_SESSION_NULL) MPI_T_pvar_session_free(&session_);
  }
  Algorithms(const Algorithms&) = delete;
  Algorithms& operator=(const Algorithms&) = delete;

  /// The first name stands for the library's own choice.
  const std::vector<std::string>& names() const { return names_; }
  void force(std::size_t choice) { MPI_T_cvar_write(forced_, &values_[choice]); }

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

  MPI_T_cvar_handle forced_ = MPI_T_CVAR_HANDLE_NULL;
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  std::vector<std::string> names_;
  std::vector<int> values_;
  std::vector<MPI_T_pvar_handle> counters_;
};

/// One algorithm, or the library's own choice, in one case.
struct Series {
  std::size_t choice;  // what was forced
  std::size_t ran;     // which algorithm that was
  int rounds = 1;
  std::vector<double> seconds;
};

/// To force an algorithm takes each rank a while, in which it thinks of limits; so some calls come before
/// those that count.
double seconds_of_calls(Algorithms& algorithms, const Series& series, const bench::Operation& operation,
                        const bench::Buffers& at) {
  MPI_Barrier(MPI_COMM_WORLD);
  algorithms.force(series.choice);
  for (int round = 0; round < 3; ++round) operation.call(at);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_seconds();
  for (int round = 0; round < series.rounds; ++round) operation.call(at);
  const double seconds = (now_seconds() - begin) / series.rounds;
  algorithms.force(0);
  return seconds;
}

/// Which algorithm runs when `choice` is forced; 0 where none is counted. A few calls, to warm up.
std::size_t algorithm_of(Algorithms& algorithms, std::size_t choice, const bench::Operation& operation,
                         const bench::Buffers& at) {
  const auto before = algorithms.counts();
  seconds_of_calls(algorithms, {choice, 0, 0, {}}, operation, at);
  const auto after = algorithms.counts();
  // The barrier's own algorithms are counted too, when the barrier is what is measured: the most is what was
  // called.
  std::size_t most = 0;
  for (std::size_t i = 1; i < after.size(); ++i) {
    if (after[i] - before[i] > after[most] - before[most]) most = i;
  }
  return most;
}

void measure(const bench::Place& place, const bench::Operation& operation, Algorithms& algorithms,
             std::size_t bytes, bool timed) {
  const bench::Buffers at(bytes, operation.blocks, place.size);
  std::vector<Series> all;
  for (std::size_t choice = 0; choice < algorithms.names().size(); ++choice) {
    const std::size_t ran = algorithm_of(algorithms, choice, operation, at);
    if (ran != 0 && (choice == 0 || ran == choice)) all.push_back({choice, ran, 2, {}});
  }
  if (!timed) return;
  for (Series& series : all) {
    for (const double rounds_max : {100.0, 20000.0}) {  // by a few rounds first how many to time
      double round_seconds = seconds_of_calls(algorithms, series, operation, at);
      MPI_Bcast(&round_seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      series.rounds = static_cast<int>(std::clamp(kTurnSeconds / (round_seconds + 1e-9), 2.0, rounds_max));
    }
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Series& series : all) series.seconds.push_back(seconds_of_calls(algorithms, series, operation, at));
  }
  for (Series& series : all) {
    std::vector<double> slowest(kTurns);
    MPI_Reduce(series.seconds.data(), slowest.data(), kTurns, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (place.rank != 0) continue;
    std::printf(
        "{\"operation\": \"%s\", \"bytes\": %zu, \"ranks\": %d, \"algorithm\": \"%s\", \"own_choice\": %s, "
        "\"seconds\": [",
        operation.name, bytes, place.size, algorithms.names()[series.ran].c_str(),
        series.choice == 0 ? "true" : "false");
    for (int turn = 0; turn < kTurns; ++turn)
      std::printf("%s%.4e", turn == 0 ? "" : ", ", slowest[static_cast<std::size_t>(turn)]);
    std::printf("]}\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  const bench::Place place(MPI_COMM_WORLD);
  const bool timed = argc < 2 || std::string_view(argv[1]) != "untimed";
  const bench::Wanted wanted("algorithms", timed ? argc : argc - 1, timed ? argv : argv + 1);
  const std::vector<std::size_t> grid(std::begin(kGrid), std::end(kGrid));
  for (const bench::Operation* operation : wanted.operations) {
    Algorithms algorithms(operation->name);
    if (algorithms.names().empty() && place.rank == 0)
      std::fprintf(stderr, "algorithms: no control variable forces the algorithm of %s\n", operation->name);
    const bool has_data = operation->call != bench::barrier;
    const auto& sizes = wanted.sizes.empty() && has_data ? grid : wanted.sizes_of(*operation);
    for (const std::size_t bytes : sizes)
      if (!algorithms.names().empty()) measure(place, *operation, algorithms, bytes, timed);
  }
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
