// The stress test of messages: stress SEED ROUNDS SECONDS THREADS BYTES_MAX [SPAWNED]
//
// With SPAWNED the ranks spawn so many more, and play together with them: processes of two jobs.
//
// Plays random rounds until ROUNDS are done or SECONDS are over. A round follows from its seed, which every
// failure prints: `stress THAT_SEED 1 60 THREADS BYTES_MAX` plays it again (its timing is another one's, so
// not always its failure). A run that takes longer than three times SECONDS and a minute, or than
// $STRESS_SECONDS_MAX, prints what every thread of every rank is doing and ends.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "actor.hpp"
#include "ways.hpp"

namespace {

constexpr int kThreadsMax = 8;
constexpr unsigned kBurnUs = 100;  // at most, at a time, outside MPI
constexpr std::size_t kStaticBytes = 1024 * 1024, kStackBytes = 512 * 1024, kBufferedBytes = 64 * 1024 * 1024;

unsigned char zeroed[kThreadsMax][2 * kStaticBytes];
unsigned char initialised[kThreadsMax][kStaticBytes] = {{1}};

std::vector<std::unique_ptr<stress::Actor>> actors;

void tell_state(int) {
  for (const auto& actor : actors) std::fprintf(stderr, "time is up: %s\n", actor->state().c_str());
  std::fflush(stderr);
  sleep(2);  // until the other ranks have told theirs
  _exit(3);
}

struct Arguments {
  std::uint64_t seed;
  int rounds, seconds, threads;
  std::size_t bytes_max;
  int spawned;
};

void make_comms(MPI_Comm all, int rank, int ranks, MPI_Comm shared, MPI_Comm* comms) {
  MPI_Comm half;
  MPI_Comm_dup(all, &comms[stress::kWorld]);
  MPI_Comm_dup(all, &comms[stress::kReady]);
  MPI_Comm_split(all, 0, ranks - rank, &comms[stress::kReversed]);
  comms[stress::kInter] = MPI_COMM_NULL;
  if (ranks > 1) {
    MPI_Comm_split(all, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, all, 1 - rank % 2, 1, &comms[stress::kInter]);
    MPI_Comm_free(&half);
  }
  comms[stress::kShared] = shared;
  for (int i = 0; i < stress::kComms; ++i) {
    if (comms[i] != MPI_COMM_NULL) MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
  }
}

/// The stack pool lies in this frame, which lives as long as the round.
void play_round(int thread, const Arguments& arguments, std::uint64_t seed, stress::Actor& actor) {
  alignas(64) unsigned char stack[kStackBytes];
  stress::Pools pools;
  pools.of[static_cast<int>(stress::Place::kZeroed)] = {zeroed[thread], sizeof zeroed[thread]};
  pools.of[static_cast<int>(stress::Place::kInitialised)] = {initialised[thread], sizeof initialised[thread]};
  pools.of[static_cast<int>(stress::Place::kStack)] = {stack, sizeof stack};
  actor.play(seed, pools, arguments.bytes_max, kBurnUs);
}

void play_all(const Arguments& arguments, MPI_Comm all, int rank) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(arguments.seconds);
  int round = 0, go_on = 1;
  while (go_on) {
    // The round's seed is the argument's for the first round, so that a failure's seed plays that round.
    const std::uint64_t seed = arguments.seed + static_cast<std::uint64_t>(round);
    std::vector<std::thread> threads;
    for (int thread = 1; thread < arguments.threads; ++thread) {
      threads.emplace_back(
          [&, thread] { play_round(thread, arguments, seed, *actors[static_cast<std::size_t>(thread)]); });
    }
    play_round(0, arguments, seed, *actors[0]);
    for (std::thread& thread : threads) thread.join();
    MPI_Barrier(all);  // a wildcard of this round must not get the next one's messages
    // Waits until all buffered messages are gone.
    void* buffer = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(static_cast<void*>(&buffer), &bytes);
    MPI_Buffer_attach(buffer, bytes);
    ++round;
    go_on = round < arguments.rounds && std::chrono::steady_clock::now() < end;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, all);
  }
  long sums[2] = {0, 0};
  for (const auto& actor : actors) {
    sums[0] += actor->received();
    sums[1] += actor->bytes();
  }
  long totals[2] = {0, 0};
  MPI_Reduce(sums, totals, 2, MPI_LONG, MPI_SUM, 0, all);
  if (rank == 0) std::printf("right: %d rounds, %ld messages, %ld bytes\n", round, totals[0], totals[1]);
}

/// The world, or it and the spawned ranks.
MPI_Comm everybody(int spawned, char** argv) {
  MPI_Comm parent, all = MPI_COMM_WORLD;
  MPI_Comm_get_parent(&parent);
  if (spawned == 0) return all;
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], argv + 1, spawned, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent,
                   MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(parent, 0, &all);
  } else {
    MPI_Intercomm_merge(parent, 1, &all);
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6)
    return std::fprintf(stderr, "usage: stress SEED ROUNDS SECONDS THREADS BYTES_MAX [SPAWNED]\n"), 2;
  Arguments arguments{std::strtoull(argv[1], nullptr, 10),
                      std::atoi(argv[2]),
                      std::atoi(argv[3]),
                      std::min(std::atoi(argv[4]), kThreadsMax),
                      std::strtoull(argv[5], nullptr, 10),
                      argc > 6 ? std::atoi(argv[6]) : 0};
  int provided = 0, rank = 0, ranks = 0;
  const int wanted = arguments.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  if (provided < wanted) return std::fprintf(stderr, "thread level %d of %d\n", provided, wanted), 1;
  const MPI_Comm all = everybody(arguments.spawned, argv);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  void* buffer = std::malloc(kBufferedBytes);
  MPI_Buffer_attach(buffer, static_cast<int>(kBufferedBytes));
  std::vector<std::vector<MPI_Comm>> comms;
  MPI_Comm shared;
  MPI_Comm_dup(all, &shared);
  for (int thread = 0; thread < arguments.threads; ++thread) {
    comms.emplace_back(stress::kComms);
    make_comms(all, rank, ranks, shared, comms.back().data());
  }
  for (int thread = 0; thread < arguments.threads; ++thread) {
    actors.push_back(
        std::make_unique<stress::Actor>(rank, ranks, thread, comms[static_cast<std::size_t>(thread)].data()));
  }
  stress::Ways ways;
  ways.begin();
  signal(SIGALRM, tell_state);
  const char* limit = std::getenv("STRESS_SECONDS_MAX");
  alarm(static_cast<unsigned>(limit != nullptr ? std::atoi(limit) : 3 * arguments.seconds + 60));
  play_all(arguments, all, rank);
  alarm(0);
  ways.print(all);
  for (std::vector<MPI_Comm>& set : comms) {
    for (int i = 0; i < stress::kShared; ++i) {
      if (set[static_cast<std::size_t>(i)] != MPI_COMM_NULL) MPI_Comm_free(&set[static_cast<std::size_t>(i)]);
    }
  }
  MPI_Comm_free(&shared);
  int bytes = 0;
  MPI_Buffer_detach(static_cast<void*>(&buffer), &bytes);
  std::free(buffer);
  MPI_Finalize();
  return 0;
}
