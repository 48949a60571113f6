// What collectives do at their edges: bad arguments are refused by name, truncation surfaces and hangs
// no rank, requests of persistent collectives start again, objects may be freed while a collective needs
// them, and a small blocking collective allocates nothing in the steady state.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "base/predefined.hpp"
#include "base/variables/algorithm_table.hpp"
#include "coll/api.hpp"
#include "coll/byte_collectives.hpp"
#include "coll/run/execution.hpp"
#include "communicator/api.hpp"
#include "datatype/call/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "support/predefined.hpp"
#include "support/world.hpp"

namespace {
thread_local bool count_allocations = false;
std::atomic<int> allocations{0};
}  // namespace

void* operator new(std::size_t bytes) {
  if (count_allocations) ++allocations;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) std::abort();
  return memory;
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

void expect_error(Process& process, Code code, int error_class, const char* text) {
  EXPECT_EQ(error_class_bits(code), error_class);
  EXPECT_NE(process.errors.text(code).find(text), std::string::npos) << process.errors.text(code);
}

TEST(CollectiveArguments, AreRefusedByName) {
  run_ranks(2, [](Process& process) {
    Comm* world = process.objects->world;
    Datatype* integer = type(process, kMpiInt);
    Op* sum = op(process, kMpiSum);
    int a[4] = {}, b[4] = {};
    expect_error(process, api::allreduce(process, a, a, 1, integer, sum, world), kErrBuffer, "MPI_IN_PLACE");
    expect_error(process, api::allreduce(process, a, kInPlace, 1, integer, sum, world), kErrBuffer,
                 "recvbuf = MPI_IN_PLACE");
    expect_error(process,
                 api::allreduce(process, a, b, 1, type(process, kMpiDouble), op(process, kMpiBand), world),
                 kErrOp, "MPI_BAND");
    expect_error(process, api::bcast(process, kInPlace, 1, integer, 0, world), kErrBuffer, "buffer");
    expect_error(process, api::alltoall(process, a, 1, integer, a, 1, integer, world), kErrBuffer, "sendbuf");
    const int counts[] = {1, -3};
    const int displs[] = {0, 1};
    expect_error(
        process,
        api::allgatherv(process, a, 1, integer, b, CountArray(counts), CountArray(displs), integer, world),
        kErrCount, "recvcounts[1] = -3");
    const Count huge = Count{1} << 61;
    expect_error(process, api::bcast(process, a, huge, integer, 0, world), kErrCount,
                 "count = 2305843009213693952");
    expect_error(process, api::allgather(process, a, 1, integer, b, huge / 2, integer, world), kErrCount,
                 "recvcount = 1152921504606846976");
    const std::int64_t huge_displs[] = {0, huge * 2};
    const int ones[] = {1, 1};
    expect_error(
        process,
        api::allgatherv(process, a, 1, integer, b, CountArray(ones), CountArray(huge_displs), integer, world),
        kErrArg, "displacement of block 1");
    if (process.rank == 1) {
      expect_error(process, api::gather(process, kInPlace, 1, integer, b, 1, integer, 0, world), kErrBuffer,
                   "sendbuf = MPI_IN_PLACE");
    } else {
      expect_error(process, api::gather(process, a, 1, integer, a, 1, integer, 0, world), kErrBuffer,
                   "sendbuf");
    }
    // Buffers that are the same but empty are legal, and the ranks are still in step.
    EXPECT_EQ(api::allreduce(process, a, a, 0, integer, sum, world), 0);
    int in = process.rank + 1, out = 0;
    EXPECT_EQ(api::allreduce(process, &in, &out, 1, integer, sum, world), 0);
    EXPECT_EQ(out, 3);
  });
}

TEST(CollectiveErrors, TruncationSurfacesAndHangsNobody) {
  run_ranks(4, [](Process& process) {
    Comm* world = process.objects->world;
    Datatype* integer = type(process, kMpiInt);
    int data[4] = {1, 2, 3, 4}, all[16] = {};
    // Rank 3 sends more than the root has room for.
    const int one[] = {1, 1, 1, 1};
    const int places[] = {0, 1, 2, 3};
    const Code code = api::gatherv(process, data, process.rank == 3 ? 4 : 1, integer, all, CountArray(one),
                                   CountArray(places), integer, 0, world);
    if (process.rank == 0) {
      EXPECT_EQ(error_class_bits(code), kErrTruncate);
    }
    // One's own block is too long.
    const int counts[] = {2, 2, 2, 2};
    const int displs[] = {0, 2, 4, 6};
    const int few[] = {1, 1, 1, 1};
    const Code own =
        api::alltoallv(process, all, CountArray(process.rank == 2 ? counts : few), CountArray(displs),
                       integer, all + 8, CountArray(few), CountArray(displs), integer, world);
    EXPECT_EQ(error_class_bits(own), kErrTruncate);
    Request* request = nullptr;
    int value = process.rank == 1 ? 7 : 0;
    ASSERT_EQ(api::ibcast(process, &value, 1, integer, 1, world, &request), 0);
    EXPECT_EQ(api::wait(process, &request, nullptr), 0);
    EXPECT_EQ(value, 7);
  });
}

TEST(PersistentCollectives, StartAgainInAnyOrder) {
  run_ranks(3, [](Process& process) {
    Comm* world = process.objects->world;
    Datatype* integer = type(process, kMpiInt);
    int in = 0, sum = 0, token = 0;
    Request *reduction = nullptr, *broadcast = nullptr, *barrier = nullptr;
    ASSERT_EQ(
        api::allreduce_init(process, &in, &sum, 1, integer, op(process, kMpiSum), world, nullptr, &reduction),
        0);
    ASSERT_EQ(api::bcast_init(process, &token, 1, integer, 2, world, nullptr, &broadcast), 0);
    ASSERT_EQ(api::barrier_init(process, world, nullptr, &barrier), 0);
    for (int round = 0; round < 20; ++round) {
      in = process.rank + round;
      token = process.rank == 2 ? round : -1;
      // The ranks start them in different orders.
      Request* first = process.rank == 0 ? reduction : broadcast;
      Request* second = process.rank == 0 ? broadcast : reduction;
      ASSERT_EQ(api::start(process, &first), 0);
      ASSERT_EQ(api::start(process, &second), 0);
      ASSERT_EQ(api::start(process, &barrier), 0);
      Request* all[] = {barrier, reduction, broadcast};
      ASSERT_EQ(api::waitall(process, 3, all, nullptr), 0);
      ASSERT_EQ(sum, 3 + 3 * round);
      ASSERT_EQ(token, round);
      ASSERT_FALSE(reduction->active);
    }
    for (Request** request : {&reduction, &broadcast, &barrier}) {
      ASSERT_EQ(api::request_free(process, request), 0);
      ASSERT_EQ(*request, nullptr);
    }
  });
}

// What waits for what in a pipeline is found out at the first start alone.
TEST(PersistentCollectives, KeepTheirDependencies) {
  constexpr int kCount = 4000;
  constexpr int kChain = algorithm_number(Operation::kBcast, "chain");
  WorldOptions options;
  options.config.bcast_algorithm = 1 + kChain - first_algorithm_of(Operation::kBcast);
  options.config.segment_bytes = 1024;
  run_ranks(
      3,
      [](Process& process) {
        std::vector<int> data(kCount);
        Request* request = nullptr;
        ASSERT_EQ(api::bcast_init(process, data.data(), kCount, type(process, kMpiInt), 0,
                                  process.objects->world, nullptr, &request),
                  0);
        const Execution& execution = *static_cast<CollectiveRequest*>(request)->execution;
        for (int start = 1; start <= 3; ++start) {
          std::fill(data.begin(), data.end(), process.rank == 0 ? start : 0);
          ASSERT_EQ(api::start(process, &request), 0);
          ASSERT_EQ(api::wait(process, &request, nullptr), 0);
          ASSERT_EQ(data, std::vector<int>(kCount, start));
          ASSERT_TRUE(execution.schedule.follows_data);
          ASSERT_EQ(execution.data_flow()->preparations(), 1U);
        }
        ASSERT_EQ(api::request_free(process, &request), 0);
      },
      options);
}

TEST(NonblockingCollectives, KeepWhatTheyNeed) {
  run_ranks(4, [](Process& process) {
    Comm* world = process.objects->world;
    Datatype* pair = nullptr;
    ASSERT_EQ(api::type_contiguous(process, 2, type(process, kMpiInt), &pair, false), 0);
    ASSERT_EQ(api::type_commit(process, &pair), 0);
    std::vector<int> data(20000, process.rank == 0 ? 5 : 0);
    Request* request = nullptr;
    ASSERT_EQ(api::ibcast(process, data.data(), 10000, pair, 0, world, &request), 0);
    ASSERT_EQ(api::type_free(process, &pair), 0);
    ASSERT_EQ(api::wait(process, &request, nullptr), 0);
    ASSERT_EQ(data, std::vector<int>(20000, 5));
  });
}

TEST(NonblockingCollectives, ManyUnderWayFinishInAnyOrder) {
  run_ranks(5, [](Process& process) {
    Comm* world = process.objects->world;
    constexpr int kMany = 100;
    std::vector<int> in(kMany), out(kMany);
    std::vector<Request*> requests(kMany);
    for (std::size_t i = 0; i < kMany; ++i) {
      in[i] = static_cast<int>(i);
      ASSERT_EQ(api::iallreduce(process, &in[i], &out[i], 1, type(process, kMpiInt), op(process, kMpiSum),
                                world, &requests[i]),
                0);
    }
    // The last first, while a blocking one comes in between.
    for (std::size_t i = kMany; i-- > 0;) {
      if (i == kMany / 2) ASSERT_EQ(api::barrier(process, world), 0);
      ASSERT_EQ(api::wait(process, &requests[i], nullptr), 0);
      ASSERT_EQ(out[i], 5 * static_cast<int>(i));
    }
  });
}

TEST(NonblockingCollectives, AreOverWhenTheirCommunicatorIsDisconnected) {
  run_ranks(5, [](Process& process) {
    Comm* comm = nullptr;
    ASSERT_EQ(api::comm_dup(process, process.objects->world, &comm), 0);
    int in = 1, out = 0;
    Request* request = nullptr;
    ASSERT_EQ(
        api::iallreduce(process, &in, &out, 1, type(process, kMpiInt), op(process, kMpiSum), comm, &request),
        0);
    ASSERT_EQ(api::comm_disconnect(process, &comm), 0);
    EXPECT_TRUE(request->done);
    EXPECT_EQ(out, 5);
    EXPECT_EQ(api::wait(process, &request, nullptr), 0);
  });
}

TEST(InternalCollectives, MoveBytes) {
  run_ranks(6, [](Process& process) {
    Comm& world = *process.objects->world;
    const std::uint64_t mine = 1000u + static_cast<unsigned>(process.rank);
    std::uint64_t all[6] = {};
    ASSERT_EQ(allgather_bytes(world, &mine, all, sizeof mine), 0);
    for (std::size_t rank = 0; rank < 6; ++rank) EXPECT_EQ(all[rank], 1000 + rank);
    std::uint64_t word = process.rank == 4 ? 99 : 0;
    ASSERT_EQ(bcast_bytes(world, &word, sizeof word, 4), 0);
    EXPECT_EQ(word, 99u);
    std::uint64_t later = process.rank == 2 ? 77 : 0;
    std::uint64_t seen = 0;
    Request* request = start_bcast_bytes(world, &later, sizeof later, 2, [&] { seen = later; });
    ASSERT_EQ(api::wait(process, &request, nullptr), 0);
    EXPECT_EQ(seen, 77u);
  });
}

TEST(SmallCollectives, AllocateNothingInTheSteadyState) {
  run_ranks(4, [](Process& process) {
    Comm* world = process.objects->world;
    Datatype* integer = type(process, kMpiInt);
    int in = 1, out = 0;
    const auto all_kinds = [&] {
      EXPECT_EQ(api::barrier(process, world), 0);
      EXPECT_EQ(api::bcast(process, &in, 1, integer, 0, world), 0);
      EXPECT_EQ(api::allreduce(process, &in, &out, 1, integer, op(process, kMpiSum), world), 0);
    };
    for (int i = 0; i < 200; ++i) all_kinds();
    count_allocations = true;
    for (int i = 0; i < 50; ++i) all_kinds();
    count_allocations = false;
    EXPECT_EQ(api::barrier(process, world), 0);
    EXPECT_EQ(allocations.load(), 0);
  });
}

}  // namespace
}  // namespace tasuki::test
