// Ways of a message between two ranks, forced in turn: seconds one way, half of a round there and back. All
// in one job, in short batches that take turns, so that all meet the same machine. A way is forced by
// Tasuki's control variables of MPI_T, and its counters tell whether the messages went that way. The package
// tasuki.tuning runs it, for `tasuki tune`.
//
//   message_ways CASE...     a CASE is ORDER:BYTES:TURNS:WAY,WAY,...
//
// ORDER is receive_first (the receive is posted, and its rank waits for it, when the message is sent),
// message_first (the receive comes when the message is already there), or one of these with "_untouched".
// Else the sender writes the data before, and the receiver reads each line after, within the time: what
// programs do. A WAY is one of kWays below, or a bare loop of shared_pair.h: push, pull or both.
//
// A line of JSON for each case as it ends, as of algorithms.cpp: {"operation": "receive_first", "bytes":
// 4096, "ranks": 2, "rows": [{"series": "get", "seconds": [...]}, ...]}. A way that most messages could not
// go is left out.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "shared_pair.h"
#include "words.hpp"

namespace {

constexpr double kTurnSeconds = 0.002;
constexpr int kRoundsMin = 2, kRoundsMax = 2000, kTurnsMax = 1000;
constexpr int kRoundsBefore = 2;  // of each batch, so that the ranks know of one another what they learn
constexpr int kData = 1, kIsThere = 2;  // tags
constexpr std::size_t kBytesMax = 64 << 20;

// The first five are numbers of bytes, the others switches.
constexpr int kByteKnobs = 5;
constexpr const char* kKnobs[] = {
    "TASUKI_EAGER_BYTES_MAX",
    "TASUKI_PROTOCOL_SENDER_WRITE_BYTES_MIN",
    "TASUKI_PROTOCOL_WAITING_GET_BYTES_MIN",
    "TASUKI_PROTOCOL_COOPERATIVE_BYTES_MIN",
    "TASUKI_PROTOCOL_STREAM_BYTES_MIN",
    "TASUKI_PROTOCOL_ADVERTISED_RECEIVES",
    "TASUKI_PROTOCOL_GET",
    "TASUKI_PROTOCOL_COOPERATIVE",
    "TASUKI_PROTOCOL_PUT",
};
constexpr int kKnobCount = static_cast<int>(std::size(kKnobs));
constexpr unsigned long kNever = 1ul << 30;

struct Way {
  const char* name;
  const char* counter;  // of the messages that went so; null: nothing is counted
  unsigned long knobs[kKnobCount];
  const char* late_counter = nullptr;  // of those that came before their receives, where that is another one
};
constexpr Way kWays[] = {
    {"eager", nullptr, {kBytesMax, kNever, kNever, kNever, kNever, 0, 1, 1, 1}},
    {"sender_write", "sent_sender_write_messages", {0, 1, kNever, kNever, kNever, 1, 1, 1, 1}},
    {"waiting_get", "sent_get_messages", {0, 1, 1, kNever, kNever, 1, 1, 1, 1}},
    {"stream",
     "sent_sender_write_messages",
     {0, 1, kNever, kNever, 1, 1, 1, 1, 1},
     "sent_cooperative_messages"},
    {"get", "sent_get_messages", {0, kNever, kNever, kNever, kNever, 0, 1, 1, 1}},
    {"cooperative", "sent_cooperative_messages", {0, kNever, kNever, 1, kNever, 0, 1, 1, 1}},
    {"two_copy", "sent_two_copy_messages", {0, kNever, kNever, kNever, kNever, 0, 0, 0, 0}},
};

[[noreturn]] void refuse(const std::string& word, const std::string& reason) {
  refuse_word("message_ways", word, reason);
}

/// The control variables that force a way, and the counters that tell which one it was.
class Library {
 public:
  Library() {
    int count = 0;
    MPI_T_pvar_session_create(&session_);
    for (int knob = 0; knob < kKnobCount; ++knob) {
      int index = 0;
      if (MPI_T_cvar_get_index(kKnobs[knob], &index) != MPI_SUCCESS)
        refuse(kKnobs[knob], "the library has no such control variable");
      MPI_T_cvar_handle_alloc(index, nullptr, &knobs_[knob], &count);
    }
    for (std::size_t i = 0; i < std::size(kWays); ++i) {
      if (kWays[i].counter == nullptr) continue;
      start(kWays[i].counter, &counters_[i]);
      if (kWays[i].late_counter != nullptr) start(kWays[i].late_counter, &late_counters_[i]);
    }
  }
  ~Library() {
    for (MPI_T_cvar_handle& knob : knobs_) MPI_T_cvar_handle_free(&knob);
    MPI_T_pvar_session_free(&session_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void force(std::size_t way) {
    for (int knob = 0; knob < kKnobCount; ++knob) {
      unsigned long bytes = kWays[way].knobs[knob];
      int on = bytes != 0 ? 1 : 0;
      void* const value = knob < kByteKnobs ? static_cast<void*>(&bytes) : &on;
      if (MPI_T_cvar_write(knobs_[knob], value) != MPI_SUCCESS) refuse(kKnobs[knob], "it took no value");
    }
  }
  /// Messages that this rank has sent that way.
  unsigned long long sent(std::size_t way) const {
    unsigned long long messages = 0;
    unsigned long long late = 0;
    if (kWays[way].counter != nullptr) MPI_T_pvar_read(session_, counters_[way], &messages);
    if (kWays[way].late_counter != nullptr) MPI_T_pvar_read(session_, late_counters_[way], &late);
    return messages + late;
  }

 private:
  void start(const char* counter, MPI_T_pvar_handle* handle) {
    int index = 0, count = 0;
    if (MPI_T_pvar_get_index(counter, MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS)
      refuse(counter, "the library has no such counter");
    MPI_T_pvar_handle_alloc(session_, index, nullptr, handle, &count);
    MPI_T_pvar_start(session_, *handle);
  }

  MPI_T_cvar_handle knobs_[kKnobCount] = {};
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle counters_[std::size(kWays)] = {}, late_counters_[std::size(kWays)] = {};
};

/// What goes to and fro.
struct Exchange {
  int rank;
  int bytes;
  bool message_first, touched;
  unsigned char* out;
  unsigned char* in;
  std::uint64_t sum = 0;  // keeps the reads

  void send(int round) {
    if (touched) touch_out(out, static_cast<std::size_t>(bytes), round);
    if (!message_first) {
      MPI_Send(out, bytes, MPI_BYTE, 1 - rank, kData, MPI_COMM_WORLD);
      return;
    }
    MPI_Request request;
    MPI_Isend(out, bytes, MPI_BYTE, 1 - rank, kData, MPI_COMM_WORLD, &request);
    MPI_Send(nullptr, 0, MPI_BYTE, 1 - rank, kIsThere, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  /// Before the other rank sends.
  void post(MPI_Request* request) {
    if (!message_first) MPI_Irecv(in, bytes, MPI_BYTE, 1 - rank, kData, MPI_COMM_WORLD, request);
  }
  void receive(MPI_Request* request) {
    if (!message_first) {
      MPI_Wait(request, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(nullptr, 0, MPI_BYTE, 1 - rank, kIsThere, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(in, bytes, MPI_BYTE, 1 - rank, kData, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (touched) sum += touch_in(in, static_cast<std::size_t>(bytes));
  }
  /// Seconds one way, as rank 0 sees it.
  double run(int rounds) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 1) post(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_seconds();
    for (int round = 0; round < rounds; ++round) {
      if (rank == 0) {
        post(&request);
        send(round);
        receive(&request);
      } else {
        receive(&request);
        if (round + 1 < rounds) post(&request);
        send(round);
      }
    }
    return (now_seconds() - begin) / rounds / 2;
  }
};

struct Case {
  std::string order;
  int bytes, turns;
  std::vector<std::string> ways;
};

struct Series {
  std::string name;
  std::size_t way;  // std::size(kWays): a bare loop
  CopyMode loop;
  int rounds;
  std::vector<double> seconds;
};

int number_of(const std::string& word, const std::string& text, std::size_t max) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 1 || value > max)
    refuse(word, "\"" + text + "\", expected a number from 1 to " + std::to_string(max));
  return static_cast<int>(value);
}

Case case_of(const std::string& word) {
  const auto parts = split(word, ':');
  if (parts.size() != 4) refuse(word, "expected ORDER:BYTES:TURNS:WAY,WAY,...");
  const std::string order = parts[0].substr(0, parts[0].find("_untouched"));
  if (order != "receive_first" && order != "message_first") refuse(word, "there is no order " + parts[0]);
  return {parts[0], number_of(word, parts[1], kBytesMax), number_of(word, parts[2], kTurnsMax),
          split(parts[3], ',')};
}

Series series_of(const std::string& name) {
  for (std::size_t way = 0; way < std::size(kWays); ++way)
    if (name == kWays[way].name) return {name, way, kPush, 0, {}};
  for (const CopyMode mode : {kPush, kPull, kBoth})
    if (name == kCopyModes[mode]) return {name, std::size(kWays), mode, 0, {}};
  refuse(name, "there is no such way");
}

/// Rank 0's time of one batch.
double trial(Series& series, int rounds, Exchange& exchange, Library& library, SharedPair* pair) {
  const bool bare = series.way == std::size(kWays);
  MPI_Barrier(MPI_COMM_WORLD);
  if (bare) {
    return pair_one_way_seconds(pair, static_cast<std::size_t>(exchange.bytes), rounds, series.loop,
                                exchange.touched ? 1 : 0);
  }
  library.force(series.way);
  exchange.run(kRoundsBefore);
  return exchange.run(rounds);
}

/// How many rounds make a turn; none where most messages did not go the way.
void calibrate(Series& series, Exchange& exchange, Library& library, SharedPair* pair) {
  const bool counted = series.way < std::size(kWays) && kWays[series.way].counter != nullptr;
  const unsigned long long before = counted ? library.sent(series.way) : 0;
  constexpr int kTried = 4;
  double seconds = trial(series, kTried, exchange, library, pair);
  seconds = std::min(seconds, trial(series, kTried, exchange, library, pair));
  MPI_Barrier(MPI_COMM_WORLD);
  const bool went = !counted || library.sent(series.way) - before >= kTried;
  series.rounds = !went ? 0
                        : static_cast<int>(std::clamp(kTurnSeconds / 2 / (seconds + 1e-9), double{kRoundsMin},
                                                      double{kRoundsMax}));
  MPI_Bcast(&series.rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

void print(const Case& asked, const std::vector<Series>& all) {
  std::printf("{\"operation\": \"%s\", \"bytes\": %d, \"ranks\": 2, \"rows\": [", asked.order.c_str(),
              asked.bytes);
  const char* comma = "";
  for (const Series& series : all) {
    if (series.rounds == 0) continue;
    std::printf("%s{\"series\": \"%s\", \"seconds\": [", comma, series.name.c_str());
    for (std::size_t turn = 0; turn < series.seconds.size(); ++turn)
      std::printf("%s%.4e", turn == 0 ? "" : ", ", series.seconds[turn]);
    std::printf("]}");
    comma = ", ";
  }
  std::printf("]}\n");
  std::fflush(stdout);
}

void measure(const Case& asked, int rank, unsigned char* out, unsigned char* in, Library& library,
             SharedPair* pair) {
  Exchange exchange{
      rank, asked.bytes, asked.order.starts_with("message_first"), !asked.order.ends_with("_untouched"),
      out,  in};
  std::vector<Series> all;
  for (const std::string& name : asked.ways) all.push_back(series_of(name));
  for (Series& series : all) calibrate(series, exchange, library, pair);
  for (int turn = 0; turn < asked.turns; ++turn) {  // to and fro: none always comes after the same one
    for (std::size_t i = 0; i < all.size(); ++i) {
      Series& series = all[turn % 2 == 0 ? i : all.size() - 1 - i];
      if (series.rounds != 0) series.seconds.push_back(trial(series, series.rounds, exchange, library, pair));
    }
  }
  if (rank == 0) print(asked, all);
  if (exchange.sum == 42) std::fprintf(stderr, "\n");
}

/// Symmetric memory, whatever the heap is.
unsigned char* make_buffer(std::size_t bytes) {
  unsigned char* buffer = nullptr;
  MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, static_cast<void*>(&buffer));
  touch_out(buffer, bytes, 1);
  return buffer;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int provided = 0, rank = 0, size = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) refuse(std::to_string(size) + " ranks", "expected 2");
  {
    Library library;
    std::vector<Case> cases;
    std::size_t bytes_max = 1;
    for (int i = 1; i < argc; ++i) {
      cases.push_back(case_of(argv[i]));
      bytes_max = std::max(bytes_max, static_cast<std::size_t>(cases.back().bytes));
    }
    SharedPair pair;
    if (pair_open(&pair, bytes_max, MPI_COMM_WORLD) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    unsigned char* const out = make_buffer(bytes_max);
    unsigned char* const in = make_buffer(bytes_max);
    for (const Case& asked : cases) measure(asked, rank, out, in, library, &pair);
    MPI_Free_mem(in);
    MPI_Free_mem(out);
    pair_close(&pair);
  }
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
