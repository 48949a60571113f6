// What messages between two nodes take, for the row of the network in a table of parameters (docs/tuning.md).
// The package tasuki.tuning runs it, for `tasuki tune --host`. Plain MPI.
//
//   network_ways SECONDS     about so long for each case; a few times as long where others use the hosts, too
//
// The ranks of the node with rank 0 each have a partner on the next node, while there are some. A line of
// JSON for each case, the seconds of one message of each batch:
//
//   {"kind": "ping", "pairs": 1, "bytes": 8, "seconds": [...]}    one way, half of a round there and back
//   {"kind": "send", ...}                                         the call that sends it, in such rounds
//   {"kind": "stream", ...}                                       one of many, all one way: kWindow at a time
//
// of one pair alone, and, streams, of all pairs at the same time.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "words.hpp"

namespace {

constexpr int kWindow = 64;  // of short messages; of long ones as many as make kWindowBytes
constexpr std::size_t kWindowBytes = 8 << 20;
constexpr int kBatches = 100;  // short ones: some meet nobody else who uses the hosts
constexpr int kBatchesMin = 4;
constexpr double kLateMax = 3;  // times as long as it should take: no further batches
constexpr std::size_t kBytesMax = 4 << 20;
constexpr std::size_t kPings[] = {8, 64, 512, 4096, 16384, 65536, 131072, 262144, 1 << 20, 4 << 20};
constexpr std::size_t kStreams[] = {8, 1 << 20};
constexpr std::size_t kShort = 8;
constexpr int kCallsMax = 2000;  // of a batch

/// This rank's partner on the other node, and which pair they are.
struct Pair {
  int number = -1;  // -1: this rank has none
  int partner = -1;
  bool first = false;  // it is on the node of rank 0
};

Pair pair_of(int rank, int size, int* pairs) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int own[2] = {rank, 0};  // the node's lowest rank, and the number among its ranks
  MPI_Comm_rank(node, &own[1]);
  MPI_Bcast(&own[0], 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  std::vector<int> all(2 * static_cast<std::size_t>(size));
  MPI_Allgather(own, 2, MPI_INT, all.data(), 2, MPI_INT, MPI_COMM_WORLD);
  int other = -1;  // the lowest rank of the second node
  for (std::size_t at = 0; at < all.size() && other < 0; at += 2)
    if (all[at] != all[0]) other = all[at];
  if (other < 0) refuse_word("network_ways", "", "all ranks are on one node, expected two or more nodes");
  std::vector<int> nodes[2];
  for (int member = 0; member < size; ++member) {
    const int lowest = all[2 * static_cast<std::size_t>(member)];
    if (lowest == all[0] || lowest == other) nodes[lowest == all[0] ? 0 : 1].push_back(member);
  }
  *pairs = static_cast<int>(std::min(nodes[0].size(), nodes[1].size()));
  Pair pair;
  for (int number = 0; number < *pairs; ++number) {
    const auto at = static_cast<std::size_t>(number);
    if (nodes[0][at] == rank) pair = {number, nodes[1][at], true};
    if (nodes[1][at] == rank) pair = {number, nodes[0][at], false};
  }
  return pair;
}

/// Seconds in the call that sends.
double ping(const Pair& pair, char* memory, int bytes) {
  const auto send = [&] { MPI_Send(memory, bytes, MPI_CHAR, pair.partner, 0, MPI_COMM_WORLD); };
  const double begin = MPI_Wtime();
  if (pair.first) send();
  const double seconds = MPI_Wtime() - begin;
  MPI_Recv(memory, bytes, MPI_CHAR, pair.partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!pair.first) send();
  return seconds;
}

int window_of(std::size_t bytes) {
  return static_cast<int>(std::clamp<std::size_t>(kWindowBytes / bytes, 1, kWindow));
}

void stream(const Pair& pair, char* memory, std::size_t bytes) {
  MPI_Request requests[kWindow];
  const int window = window_of(bytes), count = static_cast<int>(bytes);
  for (int i = 0; i < window; ++i) {
    if (pair.first) {
      MPI_Isend(memory, count, MPI_CHAR, pair.partner, 1, MPI_COMM_WORLD, &requests[i]);
    } else {
      MPI_Irecv(memory, count, MPI_CHAR, pair.partner, 1, MPI_COMM_WORLD, &requests[i]);
    }
  }
  MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
  char answer = 0;
  if (pair.first) {
    MPI_Recv(&answer, 1, MPI_CHAR, pair.partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(&answer, 1, MPI_CHAR, pair.partner, 2, MPI_COMM_WORLD);
  }
}

void print(const char* kind, int pairs, std::size_t bytes, const std::vector<double>& seconds) {
  std::printf("{\"kind\": \"%s\", \"pairs\": %d, \"bytes\": %zu, \"seconds\": [", kind, pairs, bytes);
  for (std::size_t at = 0; at < seconds.size(); ++at) std::printf("%s%.4e", at == 0 ? "" : ", ", seconds[at]);
  std::printf("]}\n");
  std::fflush(stdout);
}

/// The batches of a case. All ranks know alike how long they took, and so how many there are.
class Batches {
 public:
  Batches(bool takes_part, double budget) : takes_part_(takes_part), budget_(budget) {}

  /// Seconds of a batch, at the rank that took longest.
  template <class Call>
  double seconds(int calls, Call&& call) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls && takes_part_; ++i) call();
    const double end = MPI_Wtime();
    double most[] = {end - begin, end - begin_};
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    all_seconds_ = most[1];
    return std::max(most[0], 1e-9);
  }

  /// How many calls a batch has.
  template <class Call>
  int calls(Call&& call) {
    seconds(2, call);
    const double once = seconds(4, call) / 4;
    return static_cast<int>(std::clamp(budget_ / kBatches / once, 1.0, static_cast<double>(kCallsMax)));
  }

  bool want_more(std::size_t done) const {
    return done < kBatchesMin || (done < kBatches && all_seconds_ < kLateMax * budget_);
  }

 private:
  bool takes_part_;
  double budget_;
  double begin_ = MPI_Wtime();
  double all_seconds_ = 0;
};

/// `messages`: one way, in a call.
template <class Call>
std::vector<double> measure(Batches batches, double messages, Call&& call) {
  const int calls = batches.calls(call);
  std::vector<double> seconds;
  while (batches.want_more(seconds.size()))
    seconds.push_back(batches.seconds(calls, call) / calls / messages);
  return seconds;
}

/// What sending takes where one waits for the answer before the next.
std::vector<double> measure_sends(Batches batches, const Pair& pair, char* memory) {
  double sending = 0;
  const auto call = [&] { sending += ping(pair, memory, static_cast<int>(kShort)); };
  const int calls = batches.calls(call);
  std::vector<double> seconds;
  while (batches.want_more(seconds.size())) {
    sending = 0;
    batches.seconds(calls, call);
    seconds.push_back(sending / calls);
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double budget = argc > 1 ? std::atof(argv[1]) : 0;
  if (argc != 2 || budget <= 0) refuse_word("network_ways", argc > 1 ? argv[1] : "", "expected SECONDS");
  const Pair pair = pair_of(rank, size, &all);
  std::vector<char> memory(kBytesMax, 1);
  const auto tell = [&](const char* kind, int pairs, std::size_t bytes, const std::vector<double>& seconds) {
    if (rank == 0) print(kind, pairs, bytes, seconds);
  };
  for (const std::size_t bytes : kPings) {
    const auto call = [&] { ping(pair, memory.data(), static_cast<int>(bytes)); };
    tell("ping", 1, bytes, measure(Batches(pair.number == 0, budget), 2, call));
  }
  tell("send", 1, kShort, measure_sends(Batches(pair.number == 0, budget), pair, memory.data()));
  for (const int pairs : {1, all}) {
    for (const std::size_t bytes : kStreams) {
      const bool takes_part = pair.number >= 0 && pair.number < pairs;
      const auto call = [&] { stream(pair, memory.data(), bytes); };
      tell("stream", pairs, bytes, measure(Batches(takes_part, budget), window_of(bytes), call));
    }
    if (all == 1) break;
  }
  MPI_Finalize();
  return 0;
}
