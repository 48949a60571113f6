// TASUKI_CHECK: calls of a collective that do not fit together are an error at every rank, which says who is
// in what; calls that do are left alone, whatever datatypes say the same; and the communicator works on.
#include "coll/check/call_comparison.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/predefined.hpp"
#include "coll/api.hpp"
#include "coll/call_comparison_support.hpp"
#include "communicator/api.hpp"
#include "datatype/call/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "support/world.hpp"

namespace tasuki::test {
namespace {

TEST(ComparedCalls, TellAWrongRoot) {
  expect_mismatch(
      4, kErrRoot, "rank 2 is in MPI_Bcast root 1, the others root 0", [](Process& process, Comm* world) {
        std::vector<int> own(4);
        return api::bcast(process, own.data(), 4, type(process, kMpiInt), process.rank == 2 ? 1 : 0, world);
      });
  expect_mismatch(2, kErrRoot, "rank 1 is in MPI_Gather root 1, rank 0 root 0",
                  [](Process& process, Comm* world) {
                    int all[2] = {}, own = 0;
                    return api::gather(process, &own, 1, type(process, kMpiInt), all, 1,
                                       type(process, kMpiInt), process.rank, world);
                  });
}

TEST(ComparedCalls, TellAnotherFunction) {
  expect_mismatch(5, kErrOther, "rank 0 is in MPI_Barrier, the others in MPI_Bcast root 3",
                  [](Process& process, Comm* world) {
                    int value = 0;
                    return process.rank == 0
                               ? api::barrier(process, world)
                               : api::bcast(process, &value, 1, type(process, kMpiInt), 3, world);
                  });
  expect_mismatch(4, kErrOther, "ranks 1 and 3 are in MPI_Scan, the others in MPI_Exscan",
                  [](Process& process, Comm* world) {
                    int in = 1, out = 0;
                    const auto call = process.rank % 2 == 1 ? api::scan : api::exscan;
                    return call(process, &in, &out, 1, type(process, kMpiInt), op(process, kMpiSum), world);
                  });
}

TEST(ComparedCalls, TellAnotherForm) {
  expect_mismatch(3, kErrOther, "rank 1 is in MPI_Ibarrier, the others in MPI_Barrier",
                  [](Process& process, Comm* world) {
                    if (process.rank != 1) return api::barrier(process, world);
                    Request* request = nullptr;
                    EXPECT_EQ(api::ibarrier(process, world, &request), 0);
                    return api::wait(process, &request, nullptr);
                  });
}

TEST(ComparedCalls, TellWhatTheCoreNeedsFromWhatTheUserCalls) {
  expect_mismatch(3, kErrOther, "rank 2 is in MPI_Barrier, the others in a call of another kind",
                  [](Process& process, Comm* world) {
                    if (process.rank == 2) return api::barrier(process, world);
                    Comm* copy = nullptr;
                    return api::comm_dup(process, world, &copy);
                  });
}

TEST(ComparedCalls, TellAnotherOperationAmountAndType) {
  expect_mismatch(4, kErrOp, "rank 3 is in MPI_Allreduce with MPI_MAX, the others with MPI_SUM",
                  [](Process& process, Comm* world) {
                    int in = 1, out = 0;
                    return api::allreduce(process, &in, &out, 1, type(process, kMpiInt),
                                          op(process, process.rank == 3 ? kMpiMax : kMpiSum), world);
                  });
  expect_mismatch(4, kErrCount, "rank 1 is in MPI_Bcast of 8 bytes, the others of 16 bytes",
                  [](Process& process, Comm* world) {
                    int data[4] = {};
                    return api::bcast(process, data, process.rank == 1 ? 2 : 4, type(process, kMpiInt), 0,
                                      world);
                  });
  expect_mismatch(3, kErrType, "rank 1 is in MPI_Reduce of MPI_FLOAT, the others of MPI_INT",
                  [](Process& process, Comm* world) {
                    int in[2] = {}, out[2] = {};
                    return api::reduce(process, in, out, 2,
                                       type(process, process.rank == 1 ? kMpiFloat : kMpiInt),
                                       op(process, kMpiSum), 2, world);
                  });
  expect_mismatch(
      3, kErrCount, "rank 0 is in MPI_Allgatherv with an array of counts", [](Process& process, Comm* world) {
        const int usual[] = {1, 2, 1}, other[] = {2, 1, 1}, places[] = {0, 2, 4};
        int own[2] = {}, all[6] = {};
        const int* const counts = process.rank == 0 ? other : usual;
        return api::allgatherv(process, own, counts[process.rank], type(process, kMpiInt), all,
                               CountArray(counts), CountArray(places), type(process, kMpiInt), world);
      });
}

TEST(ComparedCalls, OfNonblockingAndPersistentCollectivesToo) {
  const char* const text = "rank 1 is in MPI_Ibcast root 1, the others root 0";
  expect_mismatch(3, kErrRoot, text, [](Process& process, Comm* world) {
    int value = 0;
    Request* request = nullptr;
    EXPECT_EQ(
        api::ibcast(process, &value, 1, type(process, kMpiInt), process.rank == 1 ? 1 : 0, world, &request),
        0);
    return api::wait(process, &request, nullptr);
  });
  expect_mismatch(3, kErrRoot, "rank 2 is in MPI_Bcast_init root 1, the others root 0",
                  [](Process& process, Comm* world) {
                    int value = 0;
                    Request* request = nullptr;
                    const Code code = api::bcast_init(process, &value, 1, type(process, kMpiInt),
                                                      process.rank == 2 ? 1 : 0, world, nullptr, &request);
                    EXPECT_EQ(request, nullptr);
                    return code;
                  });
  expect_mismatch(3, kErrOther, "rank 0 is in MPI_Barrier_init, the others in MPI_Barrier",
                  [](Process& process, Comm* world) {
                    if (process.rank != 0) return api::barrier(process, world);
                    Request* request = nullptr;
                    return api::barrier_init(process, world, nullptr, &request);
                  });
}

TEST(ComparedCalls, LetPersistentCollectivesStartInAnyOrder) {
  run_ranks(
      3,
      [](Process& process) {
        Comm* world = process.objects->world;
        int first = process.rank, second = process.rank, value = process.rank;
        Request* requests[2] = {};
        ASSERT_EQ(
            api::bcast_init(process, &first, 1, type(process, kMpiInt), 1, world, nullptr, &requests[0]), 0);
        ASSERT_EQ(
            api::bcast_init(process, &second, 1, type(process, kMpiInt), 2, world, nullptr, &requests[1]), 0);
        for (int round = 0; round < 3; ++round) {
          first = second = value = process.rank;
          const int begun = process.rank % 2;
          EXPECT_EQ(api::start(process, &requests[begun]), 0);
          EXPECT_EQ(api::bcast(process, &value, 1, type(process, kMpiInt), 0, world), 0);
          EXPECT_EQ(api::start(process, &requests[1 - begun]), 0);
          EXPECT_EQ(api::waitall(process, 2, requests, nullptr), 0);
          EXPECT_EQ(first, 1);
          EXPECT_EQ(second, 2);
          EXPECT_EQ(value, 0);
        }
        for (Request*& request : requests) EXPECT_EQ(api::request_free(process, &request), 0);
      },
      checked());
}

TEST(ComparedCalls, FitTogetherWhereTheBasicTypesDo) {
  run_ranks(
      3,
      [](Process& process) {
        Comm* world = process.objects->world;
        Datatype* pair = nullptr;
        ASSERT_EQ(api::type_contiguous(process, 2, type(process, kMpiInt), &pair, false), 0);
        ASSERT_EQ(api::type_commit(process, &pair), 0);
        Datatype* const types[] = {type(process, kMpiInt), pair, type(process, kMpiInt32T)};
        const int rank = process.rank, count = rank == 1 ? 2 : 4;
        int data[4] = {1, 2, 3, 4};
        EXPECT_EQ(api::bcast(process, data, count, types[rank], 0, world), 0);
        EXPECT_EQ(api::bcast(process, data, rank == 0 ? 16 : 4,
                             type(process, rank == 0 ? kMpiPacked : kMpiInt), 0, world),
                  0);
        EXPECT_EQ(api::bcast(process, data, 0, type(process, rank == 0 ? kMpiInt : kMpiFloat), 0, world), 0);
        // In place, and with arrays, also where only the root's or no rank's are known to all.
        int all[3] = {0, rank, 0};
        const int ones[] = {1, 1, 1}, places[] = {0, 1, 2};
        EXPECT_EQ(api::gather(process, rank == 1 ? kInPlace : &rank, 1, type(process, kMpiInt), all, 1,
                              type(process, kMpiInt), 1, world),
                  0);
        if (rank == 1) EXPECT_EQ(all[2], 2);
        EXPECT_EQ(api::gatherv(process, &rank, 1, type(process, kMpiInt), all, CountArray(ones),
                               CountArray(places), type(process, kMpiInt), 2, world),
                  0);
        Comm* part = nullptr;
        ASSERT_EQ(api::comm_split(process, world, rank % 2, 0, &part), 0);
        EXPECT_EQ(api::barrier(process, part), 0);
        EXPECT_EQ(api::comm_free(process, &part), 0);
        EXPECT_EQ(api::type_free(process, &pair), 0);
      },
      checked());
}

TEST(ComparedCalls, AreLeftAloneAtLevelOne) {
  run_ranks(
      2,
      [](Process& process) {
        Comm* world = process.objects->world;
        int data[2] = {};
        EXPECT_EQ(
            api::bcast(process, data, 2, type(process, process.rank == 0 ? kMpiInt : kMpiFloat), 0, world),
            0);
      },
      checked(1));
}

std::vector<CallRecord> bcasts(const std::vector<int>& roots) {
  std::vector<CallRecord> records;
  for (const int root : roots)
    records.push_back(record_call(CollectiveCall::kBcast, 0, {.root = root, .bytes = 8}, nullptr));
  return records;
}

TEST(Records, AreToldByPartiesOfRanks) {
  int error_class = 0;
  EXPECT_EQ(compare_records(bcasts({7, 7, 7}), {}, &error_class), "");
  EXPECT_EQ(compare_records(bcasts({1, 0, 2, 0, 1, 0}), {}, &error_class),
            "ranks 0 and 4 are in MPI_Bcast root 1, rank 2 root 2, the others root 0");
  EXPECT_EQ(
      compare_records(bcasts({0, 1, 2, 3, 4, 5, 6}), {}, &error_class),
      "rank 1 is in MPI_Bcast root 1, rank 2 root 2, rank 3 root 3, rank 4 root 4, and so on, rank 0 root 0");
  std::vector<int> roots(30, 0);
  for (std::size_t rank = 10; rank < 20; ++rank) roots[rank] = 1;
  EXPECT_EQ(compare_records(bcasts(roots), {}, &error_class),
            "10 ranks from 10 on are in MPI_Bcast root 1, the others root 0");
  EXPECT_EQ(error_class, kErrRoot);
}

TEST(Records, NameTheCallThatNeedsAnExchange) {
  std::vector<CallRecord> records = bcasts({0, 0, 0});
  records[1] = record_call(CollectiveCall::kInternal, 0, {.bytes = 8}, "MPI_Comm_dup");
  int error_class = 0;
  EXPECT_EQ(compare_records(records, {}, &error_class),
            "rank 1 is in MPI_Comm_dup, the others in MPI_Bcast root 0");
  EXPECT_EQ(error_class, kErrOther);
}

}  // namespace
}  // namespace tasuki::test
