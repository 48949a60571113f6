// TASUKI_CHECK where each rank knows its own amounts only: the forms with arrays, neighbourhoods, blocks to
// oneself, and intercommunicators. What does not fit together is the same error at every rank.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coll/api.hpp"
#include "coll/call_comparison_support.hpp"
#include "communicator/api.hpp"
#include "p2p/call/api.hpp"
#include "support/world.hpp"

namespace tasuki::test {
namespace {

constexpr int kPlaces[] = {0, 4, 8, 12};
const CountArray kAt(kPlaces);

Code waited(Process& process, Code code, Request** request) {
  EXPECT_EQ(code, 0);
  return api::wait(process, request, nullptr);
}

TEST(ComparedAmounts, OfGathervAndScatterv) {
  expect_mismatch(4, kErrCount, "rank 2 sends 12 bytes to rank 0 in MPI_Gatherv, which expects 8 bytes",
                  [](Process& process, Comm* world) {
                    const int counts[] = {1, 0, 2, 3}, own[4] = {};
                    int all[16];
                    return api::gatherv(process, own, process.rank == 2 ? 3 : counts[process.rank],
                                        type(process, kMpiInt), all, CountArray(counts), kAt,
                                        type(process, kMpiInt), 0, world);
                  });
  expect_mismatch(3, kErrCount, "rank 2 sends 8 bytes to rank 0 in MPI_Iscatterv, which expects 12 bytes",
                  [](Process& process, Comm* world) {
                    const int counts[] = {2, 2, 2}, all[16] = {};
                    int own[4];
                    Request* request = nullptr;
                    const Code code =
                        api::iscatterv(process, all, CountArray(counts), kAt, type(process, kMpiInt), own,
                                       process.rank == 0 ? 3 : 2, type(process, kMpiInt), 2, world, &request);
                    return waited(process, code, &request);
                  });
  expect_mismatch(2, kErrType, "rank 1 sends MPI_FLOAT to rank 0 in MPI_Gatherv, which expects MPI_INT",
                  [](Process& process, Comm* world) {
                    const int counts[] = {1, 1}, own[1] = {};
                    int all[16];
                    return api::gatherv(process, own, 1,
                                        type(process, process.rank == 0 ? kMpiInt : kMpiFloat), all,
                                        CountArray(counts), kAt, type(process, kMpiInt), 0, world);
                  });
}

TEST(ComparedAmounts, OfAlltoallvAndAlltoallw) {
  expect_mismatch(4, kErrCount, "rank 3 sends 4 bytes to rank 1 in MPI_Alltoallv, which expects 0 bytes",
                  [](Process& process, Comm* world) {
                    const int usual[] = {1, 1, 1, 1}, fewer[] = {1, 1, 1, 0}, out[16] = {};
                    int in[16];
                    return api::alltoallv(process, out, CountArray(usual), kAt, type(process, kMpiInt), in,
                                          CountArray(process.rank == 1 ? fewer : usual), kAt,
                                          type(process, kMpiInt), world);
                  });
  // In place both directions have the receive counts.
  expect_mismatch(3, kErrCount, "rank 2 sends 8 bytes to rank 0 in MPI_Ialltoallv, which expects 4 bytes",
                  [](Process& process, Comm* world) {
                    const int usual[] = {1, 1, 1}, more[] = {2, 1, 1};
                    int in[16] = {};
                    Request* request = nullptr;
                    const Code code = api::ialltoallv(process, kInPlace, {}, {}, nullptr, in,
                                                      CountArray(process.rank == 2 ? more : usual), kAt,
                                                      type(process, kMpiInt), world, &request);
                    return waited(process, code, &request);
                  });
  expect_mismatch(
      3, kErrType, "rank 0 sends MPI_FLOAT to rank 2 in MPI_Alltoallw, which expects MPI_INT",
      [](Process& process, Comm* world) {
        Datatype* const usual = type(process, kMpiInt);
        Datatype* const other = process.rank == 0 ? type(process, kMpiFloat) : usual;
        Datatype *const out_types[] = {usual, usual, other}, *const in_types[] = {usual, usual, usual};
        const int counts[] = {1, 1, 1}, out[16] = {};
        int in[16];
        return api::alltoallw(process, out, CountArray(counts), kAt, out_types, in, CountArray(counts), kAt,
                              in_types, world);
      });
}

TEST(ComparedAmounts, OfBlocksToOneself) {
  expect_mismatch(3, kErrCount, "rank 1 sends 4 bytes to itself in MPI_Allgather, which expects 8 bytes",
                  [](Process& process, Comm* world) {
                    const int own[2] = {};
                    int all[6];
                    return api::allgather(process, own, process.rank == 1 ? 1 : 2, type(process, kMpiInt),
                                          all, 2, type(process, kMpiInt), world);
                  });
  expect_mismatch(2, kErrCount, "rank 1 sends 4 bytes to itself in MPI_Gather_init, which expects 8 bytes",
                  [](Process& process, Comm* world) {
                    const int own[2] = {};
                    int all[4];
                    Request* request = nullptr;
                    return api::gather_init(process, own, process.rank == 1 ? 1 : 2, type(process, kMpiInt),
                                            all, 2, type(process, kMpiInt), 1, world, nullptr, &request);
                  });
  expect_mismatch(2, kErrCount, "rank 0 sends 12 bytes to itself in MPI_Alltoall, which expects 8 bytes",
                  [](Process& process, Comm* world) {
                    const int out[6] = {};
                    int in[4];
                    return api::alltoall(process, out, process.rank == 0 ? 3 : 2, type(process, kMpiInt), in,
                                         2, type(process, kMpiInt), world);
                  });
}

TEST(ComparedAmounts, OfNeighbourhoods) {
  expect_mismatch(3, kErrCount,
                  "rank 2 sends 8 bytes to rank 0 in MPI_Neighbor_alltoallv, which expects 4 bytes",
                  [](Process& process, Comm* world) {
                    const int dims[] = {3}, periods[] = {1};
                    Comm* ring = nullptr;
                    EXPECT_EQ(api::cart_create(process, world, 1, dims, periods, false, &ring), 0);
                    // Block 0 is that of the rank before this one, block 1 that of the one after it.
                    const int usual[] = {1, 1}, more[] = {1, 2}, out[16] = {};
                    int in[16];
                    const Code code = api::neighbor_alltoallv(
                        process, out, CountArray(process.rank == 2 ? more : usual), kAt,
                        type(process, kMpiInt), in, CountArray(usual), kAt, type(process, kMpiInt), ring);
                    EXPECT_EQ(api::comm_free(process, &ring), 0);
                    return code;
                  });
}

TEST(ComparedCalls, TellWhoIsInPlace) {
  expect_mismatch(3, kErrBuffer,
                  "rank 1 is in MPI_Alltoall with MPI_IN_PLACE, the others without MPI_IN_PLACE",
                  [](Process& process, Comm* world) {
                    const int out[3] = {};
                    int in[3] = {};
                    return api::alltoall(process, process.rank == 1 ? kInPlace : out, 1,
                                         type(process, kMpiInt), in, 1, type(process, kMpiInt), world);
                  });
}

/// A world cut in two groups, with a communicator between them: the first `cut` ranks, and the others.
struct Groups {
  Groups(Process& in_process, int cut) : process(in_process), is_first(process.rank < cut) {
    Comm* world = process.objects->world;
    EXPECT_EQ(api::comm_split(process, world, is_first ? 0 : 1, 0, &local), 0);
    EXPECT_EQ(api::intercomm_create(process, local, 0, world, is_first ? cut : 0, 0, &inter), 0);
    rank = local->rank;
  }
  ~Groups() {
    EXPECT_EQ(api::comm_free(process, &inter), 0);
    EXPECT_EQ(api::comm_free(process, &local), 0);
  }
  /// The root argument of a call whose root is `root` of the first group.
  int root(int root) const {
    if (!is_first) return root;
    return rank == root ? kRoot : kProcNull;
  }

  Process& process;
  bool is_first;
  Comm* local = nullptr;
  Comm* inter = nullptr;
  int rank;
};

/// As expect_mismatch(), on an intercommunicator; the groups' texts differ in the group that they call
/// remote.
void expect_inter_mismatch(int size, int cut, int error_class, const std::string& first,
                           const std::string& second, const std::function<Code(Process&, Groups&)>& call) {
  run_ranks(
      size,
      [&](Process& process) {
        Groups groups(process, cut);
        const Code code = call(process, groups);
        EXPECT_EQ(error_class_bits(code), error_class);
        EXPECT_NE(process.errors.text(code).find(groups.is_first ? first : second), std::string::npos)
            << process.errors.text(code);
        int one = 1, sum = 0;
        EXPECT_EQ(api::allreduce(process, &one, &sum, 1, type(process, kMpiInt), op(process, kMpiSum),
                                 groups.inter),
                  0);
        EXPECT_EQ(sum, groups.is_first ? size - cut : cut);
      },
      checked());
}

TEST(ComparedBetweenGroups, TellAnotherFunction) {
  expect_inter_mismatch(5, 2, kErrOther, "remote rank 1 is in MPI_Barrier, the others in MPI_Allreduce",
                        "rank 1 is in MPI_Barrier, the others in MPI_Allreduce",
                        [](Process& process, Groups& groups) {
                          int in = 1, out = 0;
                          if (!groups.is_first && groups.rank == 1)
                            return api::barrier(process, groups.inter);
                          return api::allreduce(process, &in, &out, 1, type(process, kMpiInt),
                                                op(process, kMpiSum), groups.inter);
                        });
}

TEST(ComparedBetweenGroups, TellWrongRoots) {
  const auto bcast = [](Process& process, Groups& groups, int root) {
    int data = 0;
    return api::bcast(process, &data, 1, type(process, kMpiInt), root, groups.inter);
  };
  expect_inter_mismatch(5, 2, kErrRoot,
                        "remote rank 2 is in MPI_Bcast root 0, expected root 1 because rank 1 says MPI_ROOT",
                        "rank 2 is in MPI_Bcast root 0, expected root 1 because remote rank 1 says MPI_ROOT",
                        [&](Process& process, Groups& groups) {
                          const bool wrong = !groups.is_first && groups.rank == 2;
                          return bcast(process, groups, wrong ? 0 : groups.root(1));
                        });
  expect_inter_mismatch(5, 3, kErrRoot, "ranks 0 and 2 say MPI_ROOT in MPI_Bcast, expected one rank",
                        "remote ranks 0 and 2 say MPI_ROOT in MPI_Bcast, expected one rank",
                        [&](Process& process, Groups& groups) {
                          const bool wrong = groups.is_first && groups.rank == 2;
                          return bcast(process, groups, wrong ? kRoot : groups.root(0));
                        });
  expect_inter_mismatch(
      3, 2, kErrRoot, "rank 1 is in MPI_Bcast root 0, expected MPI_PROC_NULL because rank 0 says MPI_ROOT",
      "remote rank 1 is in MPI_Bcast root 0, expected MPI_PROC_NULL because remote rank 0 says MPI_ROOT",
      [&](Process& process, Groups& groups) {
        const bool wrong = groups.is_first && groups.rank == 1;
        return bcast(process, groups, wrong ? 0 : groups.root(0));
      });
  expect_inter_mismatch(2, 1, kErrRoot, "no rank says MPI_ROOT in MPI_Bcast",
                        "no rank says MPI_ROOT in MPI_Bcast",
                        [&](Process& process, Groups& groups) { return bcast(process, groups, 0); });
}

TEST(ComparedBetweenGroups, TellOperationsAndAmounts) {
  expect_inter_mismatch(
      4, 2, kErrOp, "remote rank 1 is in MPI_Reduce with MPI_MAX, the others with MPI_SUM",
      "rank 1 is in MPI_Reduce with MPI_MAX, the others with MPI_SUM", [](Process& process, Groups& groups) {
        int in = 1, out = 0;
        const bool other = !groups.is_first && groups.rank == 1;
        return api::reduce(process, &in, &out, 1, type(process, kMpiInt),
                           op(process, other ? kMpiMax : kMpiSum), groups.root(0), groups.inter);
      });
  // A rank that has nothing to do may say anything.
  expect_inter_mismatch(5, 2, kErrCount, "rank 0 is in MPI_Bcast of 8 bytes, the others of 4 bytes",
                        "remote rank 0 is in MPI_Bcast of 8 bytes, the others of 4 bytes",
                        [](Process& process, Groups& groups) {
                          int data[3] = {};
                          const int count = !groups.is_first ? 1 : groups.rank == 0 ? 2 : 3;
                          return api::bcast(process, data, count, type(process, kMpiInt), groups.root(0),
                                            groups.inter);
                        });
  expect_inter_mismatch(4, 1, kErrCount,
                        "remote rank 2 sends 8 bytes to rank 0 in MPI_Allgather, which expects 4 bytes",
                        "rank 2 sends 8 bytes to remote rank 0 in MPI_Allgather, which expects 4 bytes",
                        [](Process& process, Groups& groups) {
                          const int own[2] = {};
                          int all[4];
                          const int count = !groups.is_first && groups.rank == 2 ? 2 : 1;
                          return api::allgather(process, own, count, type(process, kMpiInt), all, 1,
                                                type(process, kMpiInt), groups.inter);
                        });
  expect_inter_mismatch(
      4, 2, kErrCount, "remote rank 1 sends 8 bytes to rank 1 in MPI_Gatherv, which expects 4 bytes",
      "rank 1 sends 8 bytes to remote rank 1 in MPI_Gatherv, which expects 4 bytes",
      [](Process& process, Groups& groups) {
        const int counts[] = {1, 1}, own[2] = {};
        int all[16];
        return api::gatherv(process, own, groups.rank + 1, type(process, kMpiInt), all, CountArray(counts),
                            kAt, type(process, kMpiInt), groups.root(1), groups.inter);
      });
}

}  // namespace
}  // namespace tasuki::test
