// A short blocking send, and its receive, allocate nothing once the pools have grown; nor do nonblocking
// ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

#include "p2p/ranks.hpp"

namespace {
thread_local long allocations = 0;
}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  std::abort();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return operator new(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace tasuki::test {
namespace {

/// Makes the pools of this rank grow, that of unexpected messages too.
void prime(Rank& on) {
  Bytes data(40);
  Request* request = nullptr;
  api::isend(on.process, data.data(), 40, on.byte, on.rank, 1, on.world, &request);
  api::wait(on.process, &request, nullptr);
  bool flag = false;
  while (!flag) api::iprobe(on.process, on.rank, 1, on.world, &flag, nullptr);
  on.recv(data, on.rank, 1);
}

/// What 100 laps of `lap` allocate on this rank: the least of several batches, for a pool grows once more
/// whenever the ranks' timing finds it a new deepest moment. What the path itself allocated, each batch would
/// show.
template <class Lap>
long allocations_of(Lap&& lap) {
  long least = std::numeric_limits<long>::max();
  for (int batch = 0; batch < 6; ++batch) {
    const long before = allocations;
    for (int i = 0; i < 100; ++i) lap();
    least = std::min(least, allocations - before);
  }
  return least;
}

TEST(ShortPath, BlockingPingPongAllocatesNothing) {
  run_ranks(2, [](Process& process) {
    Rank on(process);
    const int peer = 1 - on.rank;
    prime(on);
    for (const Count size : {0, 8, 40, 100000}) {
      Bytes data(static_cast<std::size_t>(size));
      const long made = allocations_of([&] {
        if (on.rank == 0) api::send(process, data.data(), size, on.byte, peer, 0, on.world);
        api::recv(process, data.data(), size, on.byte, peer, 0, on.world, nullptr);
        if (on.rank == 1) api::send(process, data.data(), size, on.byte, peer, 0, on.world);
      });
      EXPECT_EQ(made, 0) << size << " bytes";
    }
    on.barrier();  // else the peer's first message of MPI_Finalize would be counted here
  });
}

TEST(ShortPath, NonblockingExchangeAllocatesNothing) {
  run_ranks(2, [](Process& process) {
    Rank on(process);
    const int peer = 1 - on.rank;
    prime(on);
    for (const Count size : {0, 8, 40, 100000}) {
      Bytes out(static_cast<std::size_t>(size)), in(static_cast<std::size_t>(size));
      const long made = allocations_of([&] {
        Request* requests[2];
        api::irecv(process, in.data(), size, on.byte, peer, 0, on.world, &requests[0]);
        api::isend(process, out.data(), size, on.byte, peer, 0, on.world, &requests[1]);
        api::waitall(process, 2, requests, nullptr);
      });
      EXPECT_EQ(made, 0) << size << " bytes";
    }
    on.barrier();  // else the peer's first message of MPI_Finalize would be counted here
  });
}

TEST(ShortPath, AnUnexpectedShortMessageAllocatesNothing) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Bytes data(40);
    EXPECT_EQ(allocations_of([&] {
                on.send(data, 0, 0);
                on.recv(data, 0, 0);
              }),
              0);
  });
}

}  // namespace
}  // namespace tasuki::test
