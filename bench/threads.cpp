// Threads: what MPI_THREAD_MULTIPLE costs, and how long one thread waits for another's work. Plain MPI, on
// two ranks; bench/run_threads.py runs it on this library and on others.
//
//   threads beside WHAT BYTES FILE   WHAT: nothing | write | send | reduce
//   threads rate THREADS BYTES COMMUNICATORS SECONDS PLACE   COMMUNICATORS: own | one, PLACE: free | spread
//   threads latency LEVEL SECONDS    LEVEL: single | multiple
//   threads overlap WHO WHEN BYTES   WHO: sender | receiver, WHEN: posted | late
//
// A line of JSON each:
//   beside   a thread of either rank plays ping-pong with 8 bytes while another one writes BYTES to FILE
//   (rank
//            0), sends them to the other rank, or reduces them: the longest and the middle round trip
//   rate     THREADS threads of rank 0 each send bursts to their partners, for so long: messages in a second
//            of all, and the slowest thread's part of what it would have if all had the same. Spread: the
//            threads of a rank are bound to the processors in turn, partners to different ones
//   latency  one thread alone: the shortest and the middle half of a round trip
//   overlap  what part of a message's time WHO computes away between its nonblocking call and MPI_Wait, while
//            the other rank waits at once; late: the message is sent before its receive is posted. Middles
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "words.hpp"

namespace {

constexpr int kWindow = 64;                    // messages of a burst
constexpr std::size_t kWindowBytes = 1 << 20;  // of a burst, where that is fewer messages
constexpr std::size_t kMessageBytesMin = 8;
constexpr std::size_t kRoundsMax = 1 << 22;
constexpr double kIdleSeconds = 0.3;  // beside nothing

struct Rank {
  int self = 0;
  int other = 0;
};

double middle_of(std::vector<double>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// ----- beside ----------------------------------------------------------------------------------------------

/// Round trips until `over`; rank 0 tells the other one which is the last.
std::vector<double> play(const Rank& rank, MPI_Comm comm, const std::atomic<bool>& over) {
  std::vector<double> times;
  times.reserve(kRoundsMax);
  long long word = 0;
  while (word == 0) {
    if (rank.self != 0) {
      MPI_Recv(&word, 1, MPI_LONG_LONG, rank.other, 0, comm, MPI_STATUS_IGNORE);
      MPI_Send(&word, 1, MPI_LONG_LONG, rank.other, 0, comm);
      continue;
    }
    if (over.load(std::memory_order_relaxed)) word = 1;
    const double begin = MPI_Wtime();
    MPI_Send(&word, 1, MPI_LONG_LONG, rank.other, 0, comm);
    MPI_Recv(&word, 1, MPI_LONG_LONG, rank.other, 0, comm, MPI_STATUS_IGNORE);
    if (times.size() < kRoundsMax) times.push_back(MPI_Wtime() - begin);
  }
  return times;
}

void work(const Rank& rank, MPI_Comm comm, const std::string& what, std::vector<char>& data,
          std::vector<char>& result, const char* file_name) {
  const auto bytes = static_cast<int>(data.size());
  if (what == "nothing") {
    for (const double begin = MPI_Wtime(); MPI_Wtime() - begin < kIdleSeconds;)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } else if (what == "write" && rank.self == 0) {
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, file_name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write(file, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
  } else if (what == "send") {
    if (rank.self == 0)
      MPI_Send(data.data(), bytes, MPI_BYTE, rank.other, 0, comm);
    else
      MPI_Recv(data.data(), bytes, MPI_BYTE, rank.other, 0, comm, MPI_STATUS_IGNORE);
  } else if (what == "reduce") {
    MPI_Allreduce(data.data(), result.data(), bytes / 4, MPI_INT, MPI_SUM, comm);
  }
}

void beside(const Rank& rank, const std::string& what, std::size_t bytes, const char* file_name) {
  std::vector<char> data(bytes, 1);
  std::vector<char> result(what == "reduce" ? bytes : 0, 2);
  MPI_Comm ours;
  MPI_Comm_dup(MPI_COMM_WORLD, &ours);
  MPI_Barrier(ours);  // a duplicate need not wait until all have filled their memory
  std::atomic<bool> over = false;
  std::vector<double> times;
  std::thread player([&] { times = play(rank, MPI_COMM_WORLD, over); });
  const double begin = MPI_Wtime();
  work(rank, ours, what, data, result, file_name);
  const double seconds = MPI_Wtime() - begin;
  over = true;
  player.join();
  if (rank.self == 0) {
    const double longest = *std::max_element(times.begin(), times.end());
    std::printf(
        "{\"kind\": \"beside\", \"what\": \"%s\", \"bytes\": %zu, \"seconds\": %.6f, \"rounds\": %zu, "
        "\"longest_s\": %.9f, \"middle_s\": %.9f}\n",
        what.c_str(), bytes, seconds, times.size(), longest, middle_of(times));
    if (what == "write") std::remove(file_name);
  }
  MPI_Comm_free(&ours);
}

// ----- rate ------------------------------------------------------------------------------------------------

/// Bursts from rank 0 to the other one, each answered; the first byte of a burst's last message says whether
/// it is the last one. Returns the messages.
long long send_bursts(const Rank& rank, MPI_Comm comm, int tag, std::size_t bytes, double until) {
  const int window = std::max<int>(1, static_cast<int>(std::min<std::size_t>(kWindow, kWindowBytes / bytes)));
  std::vector<char> data(static_cast<std::size_t>(window) * bytes);
  std::vector<MPI_Request> requests(static_cast<std::size_t>(window));
  char* const last = data.data() + static_cast<std::size_t>(window - 1) * bytes;
  long long messages = 0;
  for (bool ends = false; !ends; messages += window) {
    if (rank.self == 0) *last = MPI_Wtime() > until ? 1 : 0;
    for (int number = 0; number < window; ++number) {
      char* const at = data.data() + static_cast<std::size_t>(number) * bytes;
      MPI_Request* const request = &requests[static_cast<std::size_t>(number)];
      if (rank.self == 0)
        MPI_Isend(at, static_cast<int>(bytes), MPI_BYTE, rank.other, tag, comm, request);
      else
        MPI_Irecv(at, static_cast<int>(bytes), MPI_BYTE, rank.other, tag, comm, request);
    }
    MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
    ends = *last != 0;
    if (rank.self == 0)
      MPI_Recv(nullptr, 0, MPI_BYTE, rank.other, tag, comm, MPI_STATUS_IGNORE);
    else
      MPI_Send(nullptr, 0, MPI_BYTE, rank.other, tag, comm);
  }
  return messages;
}

/// Binds the calling thread to a processor of those that this process may use.
void bind_to(int number) {
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  std::vector<int> processors;
  for (int one = 0; one < CPU_SETSIZE; ++one)
    if (CPU_ISSET(static_cast<std::size_t>(one), &all)) processors.push_back(one);
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CPU_SET(static_cast<std::size_t>(processors[static_cast<std::size_t>(number) % processors.size()]), &mine);
  sched_setaffinity(0, sizeof mine, &mine);
}

void rate(const Rank& rank, int threads, std::size_t bytes, const std::string& communicators, double seconds,
          bool is_spread) {
  const auto count = static_cast<std::size_t>(threads);
  std::vector<MPI_Comm> comms(count, MPI_COMM_WORLD);
  if (communicators == "own")
    for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<long long> messages(count);
  std::vector<std::thread> all;
  const double begin = MPI_Wtime();
  for (std::size_t number = 0; number < count; ++number) {
    all.emplace_back([&, number] {
      if (is_spread) bind_to(static_cast<int>(number) + rank.self);
      messages[number] = send_bursts(rank, comms[number], static_cast<int>(number), bytes, begin + seconds);
    });
  }
  for (std::thread& one : all) one.join();
  const double took = MPI_Wtime() - begin;
  if (rank.self == 0) {
    long long sum = 0;
    for (const long long one : messages) sum += one;
    const long long least = *std::min_element(messages.begin(), messages.end());
    std::printf(
        "{\"kind\": \"rate\", \"threads\": %d, \"bytes\": %zu, \"communicators\": \"%s\", "
        "\"place\": \"%s\", \"messages_per_s\": %.1f, \"slowest_share\": %.3f}\n",
        threads, bytes, communicators.c_str(), is_spread ? "spread" : "free", static_cast<double>(sum) / took,
        static_cast<double>(least) * threads / static_cast<double>(sum));
  }
  if (communicators == "own")
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

// ----- latency ---------------------------------------------------------------------------------------------

void latency(const Rank& rank, const std::string& level, double seconds) {
  constexpr int kRounds = 1000;
  std::vector<double> times;
  char word[kMessageBytesMin] = {};
  const double until = MPI_Wtime() + seconds;
  for (bool ends = false; !ends;) {
    if (rank.self == 0) word[0] = MPI_Wtime() > until ? 1 : 0;
    const double begin = MPI_Wtime();
    for (int round = 0; round < kRounds; ++round) {
      if (rank.self == 0) {
        MPI_Send(word, sizeof word, MPI_BYTE, rank.other, 0, MPI_COMM_WORLD);
        MPI_Recv(word, sizeof word, MPI_BYTE, rank.other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(word, sizeof word, MPI_BYTE, rank.other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(word, sizeof word, MPI_BYTE, rank.other, 0, MPI_COMM_WORLD);
      }
    }
    times.push_back((MPI_Wtime() - begin) / kRounds / 2);
    ends = word[0] != 0;
  }
  if (rank.self != 0) return;
  const double shortest = *std::min_element(times.begin(), times.end());
  std::printf("{\"kind\": \"latency\", \"level\": \"%s\", \"shortest_s\": %.12f, \"middle_s\": %.12f}\n",
              level.c_str(), shortest, middle_of(times));
}

// ----- overlap ---------------------------------------------------------------------------------------------

void compute(double seconds) {
  for (const double begin = MPI_Wtime(); MPI_Wtime() - begin < seconds;) {
  }
}

/// One message, of which one rank computes for so long between its call and MPI_Wait, and the other one waits
/// at once. A word says that the receive is posted, or, where it is to be late, that the message is sent.
/// Returns the time from this rank's call to the end of its wait.
double exchange(const Rank& rank, std::vector<char>& data, bool computes, bool is_late, double seconds) {
  constexpr int kBegunTag = 1;
  const auto bytes = static_cast<int>(data.size());
  const bool is_sender = rank.self == 0;
  const bool is_first = is_sender == is_late;
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  if (!is_first) MPI_Recv(nullptr, 0, MPI_BYTE, rank.other, kBegunTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const double begin = MPI_Wtime();
  if (is_sender)
    MPI_Isend(data.data(), bytes, MPI_BYTE, rank.other, 0, MPI_COMM_WORLD, &request);
  else
    MPI_Irecv(data.data(), bytes, MPI_BYTE, rank.other, 0, MPI_COMM_WORLD, &request);
  if (is_first) MPI_Send(nullptr, 0, MPI_BYTE, rank.other, kBegunTag, MPI_COMM_WORLD);
  if (computes) compute(seconds);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return MPI_Wtime() - begin;
}

void overlap(const Rank& rank, const std::string& who, const std::string& when, std::size_t bytes) {
  constexpr double kSeconds = 0.3;
  constexpr double kTimes = 4;  // of a copy that two ranks share either one has half, and alone all
  const bool computes = (rank.self == 0) == (who == "sender");
  const bool is_late = when == "late";
  std::vector<char> data(bytes, 1);
  std::vector<double> alone;
  std::vector<double> beside;
  double work = 0;
  for (int round = 0; round < 3; ++round) exchange(rank, data, computes, is_late, 0);
  const double end = MPI_Wtime() + kSeconds;
  for (int goes_on = 1; goes_on != 0;) {
    alone.push_back(exchange(rank, data, computes, is_late, 0));
    work = kTimes * middle_of(alone);
    beside.push_back(exchange(rank, data, computes, is_late, work) - work);
    goes_on = MPI_Wtime() < end ? 1 : 0;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (!computes) return;
  const double message = middle_of(alone);
  std::printf(
      "{\"kind\": \"overlap\", \"who\": \"%s\", \"when\": \"%s\", \"bytes\": %zu, \"message_s\": %.9f, "
      "\"hidden\": %.4f}\n",
      who.c_str(), when.c_str(), bytes, message, 1 - middle_of(beside) / message);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool is_beside = words.size() == 4 && words[0] == "beside";
  const bool is_rate = words.size() == 6 && words[0] == "rate";
  const bool is_latency = words.size() == 3 && words[0] == "latency";
  const bool is_overlap = words.size() == 4 && words[0] == "overlap";
  if (!is_beside && !is_rate && !is_latency && !is_overlap) {
    std::fprintf(stderr, "threads: expected beside, rate, latency or overlap with their words\n");
    return 2;
  }
  const bool single = is_overlap || (is_latency && words[1] == "single");
  int provided = 0;
  MPI_Init_thread(&argc, &argv, single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  if (!single && provided != MPI_THREAD_MULTIPLE)
    refuse_word("threads", "", "this MPI has no MPI_THREAD_MULTIPLE");
  Rank rank;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank.self);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) refuse_word("threads", std::to_string(size).c_str(), "expected 2 ranks");
  rank.other = 1 - rank.self;
  if (is_beside) beside(rank, words[1], std::strtoull(words[2].c_str(), nullptr, 10), words[3].c_str());
  if (is_rate)
    rate(rank, std::atoi(words[1].c_str()),
         std::max<std::size_t>(kMessageBytesMin, std::strtoull(words[2].c_str(), nullptr, 10)), words[3],
         std::atof(words[4].c_str()), words[5] == "spread");
  if (is_overlap) overlap(rank, words[1], words[2], std::strtoull(words[3].c_str(), nullptr, 10));
  if (is_latency) latency(rank, words[1], std::atof(words[2].c_str()));
  MPI_Finalize();
  return 0;
}
