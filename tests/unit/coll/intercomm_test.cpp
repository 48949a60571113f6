// Intercommunicators, on real ranks (threads), for all ways to cut worlds of 2 to 5 ranks in two: making,
// duplicating, splitting and merging them; messages between the groups; every collective, blocking,
// nonblocking and persistent, against the values that the remote group's ranks must have sent. What each test
// checks is computed from ranks alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "base/predefined.hpp"
#include "coll/api.hpp"
#include "communicator/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "support/world.hpp"

namespace tasuki::test {
namespace {

/// A world's ranks, cut in two: the first `cut` ones and the rest.
struct Sides {
  Sides(Process& rank_process, int cut) : process(rank_process) {
    Comm* world = process.objects->world;
    is_left = process.rank < cut;
    EXPECT_EQ(api::comm_split(process, world, is_left ? 0 : 1, 0, &local), 0);
    EXPECT_EQ(api::intercomm_create(process, local, 0, world, is_left ? cut : 0, 7, &inter), 0);
    rank = inter->rank;
    size = inter->size();
    remote_size = process.size - size;
    integer = predefined_object<Datatype>(*process.objects, kMpiInt32T);
    sum = predefined_object<Op>(*process.objects, kMpiSum);
  }
  ~Sides() {
    EXPECT_EQ(api::comm_free(process, &inter), 0);
    EXPECT_EQ(api::comm_free(process, &local), 0);
  }

  /// What rank `of` of the local (else the remote) group has at element i.
  int value(bool of_local, int of, int i = 0) const {
    return (of_local == is_left ? 1000 : 2000) + 10 * of + i;
  }
  /// The sum of the remote group's values at element i.
  int remote_sum(int i = 0) const {
    int total = 0;
    for (int r = 0; r < remote_size; ++r) total += value(false, r, i);
    return total;
  }
  /// The root argument when rank `root` of the left group is the root.
  int root_argument(int root) const {
    if (!is_left) return root;
    return rank == root ? kRoot : kProcNull;
  }

  Process& process;
  bool is_left;
  Comm* local = nullptr;
  Comm* inter = nullptr;
  int rank, size, remote_size;
  Datatype* integer;
  Op* sum;
};

void on_all_cuts(const std::function<void(Sides&)>& body) {
  for (int size = 2; size <= 5; ++size) {
    for (int cut = 1; cut < size; ++cut) {
      WorldOptions options;
      options.config.check = size == 4 ? 2 : 0;  // calls that fit together are left alone
      run_ranks(
          size,
          [&](Process& process) {
            Sides sides(process, cut);
            body(sides);
          },
          options);
    }
  }
}

/// The three ways to call a collective.
enum class Way { kBlocking, kNonblocking, kPersistent };
constexpr Way kWays[] = {Way::kBlocking, Way::kNonblocking, Way::kPersistent};

/// Runs a request once (or, persistent, twice) and ends it; `check` looks at the result each time.
void run_request(Process& process, Way way, Request* request, const std::function<void()>& check) {
  for (int turn = 0; turn < (way == Way::kPersistent ? 2 : 1); ++turn) {
    if (way == Way::kPersistent) {
      ASSERT_EQ(api::start(process, &request), 0);
    }
    ASSERT_EQ(api::wait(process, &request, nullptr), 0);
    check();
  }
  if (request != nullptr) {
    ASSERT_EQ(api::request_free(process, &request), 0);
  }
}

/// Calls a collective in all three ways. Its arguments stand once, in `with`, which hands them to the form.
template <class Blocking, class Nonblocking, class Persistent, class... Arguments>
void call_all_ways(Process& process, const std::function<void()>& check, Blocking blocking,
                   Nonblocking nonblocking, Persistent persistent, Arguments... arguments) {
  for (const Way way : kWays) {
    Request* request = nullptr;
    if (way == Way::kBlocking) {
      ASSERT_EQ(blocking(process, arguments...), 0);
      check();
      continue;
    }
    const Code code = way == Way::kNonblocking ? nonblocking(process, arguments..., &request)
                                               : persistent(process, arguments..., nullptr, &request);
    ASSERT_EQ(code, 0);
    run_request(process, way, request, check);
  }
}

int size_of_remote(Process& process, Comm* comm) {
  int size = -1;
  EXPECT_EQ(api::comm_remote_size(process, comm, &size), 0);
  return size;
}

/// Sends this rank's number in the world to every remote rank and checks what comes.
void exchange_world_ranks(Sides& sides, Comm* comm) {
  const int count = size_of_remote(sides.process, comm);
  std::vector<int> got(static_cast<std::size_t>(count), -1);
  std::vector<Request*> requests(static_cast<std::size_t>(2 * count));
  for (int peer = 0; peer < count; ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    ASSERT_EQ(api::irecv(sides.process, &got[at], 1, sides.integer, peer, 3, comm, &requests[2 * at]), 0);
    ASSERT_EQ(api::isend(sides.process, &sides.process.rank, 1, sides.integer, peer, 3, comm,
                         &requests[2 * at + 1]),
              0);
  }
  ASSERT_EQ(api::waitall(sides.process, 2 * count, requests.data(), nullptr), 0);
  for (std::size_t peer = 0; peer < got.size(); ++peer)
    EXPECT_EQ(got[peer], comm->remote_group->endpoints[peer]);
}

TEST(Intercomm, KnowsBothGroupsAndCarriesMessages) {
  on_all_cuts([](Sides& sides) {
    EXPECT_EQ(size_of_remote(sides.process, sides.inter), sides.remote_size);
    bool flag = false;
    EXPECT_EQ(api::comm_test_inter(sides.process, sides.inter, &flag), 0);
    EXPECT_TRUE(flag);
    exchange_world_ranks(sides, sides.inter);
  });
}

TEST(Intercomm, DuplicatesKeepMessagesApart) {
  on_all_cuts([](Sides& sides) {
    Comm* twin = nullptr;
    ASSERT_EQ(api::comm_dup(sides.process, sides.inter, &twin), 0);
    Comm* later = nullptr;
    Request* request = nullptr;
    ASSERT_EQ(api::comm_idup(sides.process, twin, &later, &request), 0);
    ASSERT_EQ(api::wait(sides.process, &request, nullptr), 0);
    int result = 0;
    ASSERT_EQ(api::comm_compare(sides.process, sides.inter, later, &result), 0);
    EXPECT_EQ(result, static_cast<int>(Comparison::kCongruent));
    EXPECT_NE(later->context, twin->context);
    EXPECT_NE(later->context, later->local_comm->context);
    for (Comm* comm : {twin, later}) {
      exchange_world_ranks(sides, comm);
      EXPECT_EQ(api::barrier(sides.process, comm), 0);
      EXPECT_EQ(api::comm_free(sides.process, &comm), 0);
    }
  });
}

TEST(Intercomm, MergesInTheOrderAskedFor) {
  on_all_cuts([](Sides& sides) {
    for (const bool left_high : {false, true}) {
      for (const bool right_high : {false, true}) {
        Comm* merged = nullptr;
        const bool high = sides.is_left ? left_high : right_high;
        ASSERT_EQ(api::intercomm_merge(sides.process, sides.inter, high, &merged), 0);
        const bool left_first = !left_high || right_high;
        EXPECT_EQ(merged->rank, sides.is_left == left_first ? sides.rank : sides.remote_size + sides.rank);
        int total = 0;
        const int one = 1;
        EXPECT_EQ(api::allreduce(sides.process, &one, &total, 1, sides.integer, sides.sum, merged), 0);
        EXPECT_EQ(total, sides.process.size);
        EXPECT_EQ(api::comm_free(sides.process, &merged), 0);
      }
    }
  });
}

TEST(Intercomm, SplitsByColorAndKey) {
  on_all_cuts([](Sides& sides) {
    // Even ranks of both sides, in the reverse order; odd ones stay out where the other side has none.
    Comm* part = nullptr;
    ASSERT_EQ(api::comm_split(sides.process, sides.inter, sides.rank % 2, -sides.rank, &part), 0);
    const int parity = sides.rank % 2;
    const int remote = (sides.remote_size + 1 - parity) / 2;
    if (remote == 0) {
      EXPECT_EQ(part, nullptr);
      return;
    }
    ASSERT_NE(part, nullptr);
    const int local = (sides.size + 1 - parity) / 2;
    EXPECT_EQ(part->rank, local - 1 - sides.rank / 2);
    EXPECT_EQ(part->remote_group->size(), remote);
    exchange_world_ranks(sides, part);
    EXPECT_EQ(api::barrier(sides.process, part), 0);
    EXPECT_EQ(api::comm_free(sides.process, &part), 0);
  });
}

TEST(Intercomm, SplitsByMachine) {
  on_all_cuts([](Sides& sides) {
    Comm* here = nullptr;
    ASSERT_EQ(api::comm_split_type(sides.process, sides.inter, 221, 0, nullptr, &here), 0);  // shared memory
    ASSERT_NE(here, nullptr);
    exchange_world_ranks(sides, here);
    EXPECT_EQ(here->size(), sides.size);
    EXPECT_EQ(here->remote_group->size(), sides.remote_size);
    EXPECT_EQ(api::comm_free(sides.process, &here), 0);
  });
}

TEST(Intercomm, CreateTakesASubgroupOfEachSide) {
  on_all_cuts([](Sides& sides) {
    Group* all = nullptr;
    Group* first = nullptr;
    const int zero[] = {0};
    ASSERT_EQ(api::comm_group(sides.process, sides.inter, &all), 0);
    ASSERT_EQ(api::group_incl(sides.process, all, 1, zero, &first), 0);
    Comm* part = nullptr;
    ASSERT_EQ(api::comm_create(sides.process, sides.inter, sides.is_left ? first : all, &part), 0);
    if (sides.is_left && sides.rank != 0) {
      EXPECT_EQ(part, nullptr);
    } else {
      ASSERT_NE(part, nullptr);
      EXPECT_EQ(part->remote_group->size(), sides.is_left ? sides.remote_size : 1);
      exchange_world_ranks(sides, part);
      EXPECT_EQ(api::comm_free(sides.process, &part), 0);
    }
    EXPECT_EQ(api::group_free(sides.process, &first), 0);
    EXPECT_EQ(api::group_free(sides.process, &all), 0);
  });
}

TEST(Intercomm, RefusesWhatIsWrongAndStaysUsable) {
  on_all_cuts([](Sides& sides) {
    Process& process = sides.process;
    Comm* made = nullptr;
    EXPECT_EQ(error_class_bits(api::intercomm_create(process, sides.inter, 0, nullptr, 0, 0, &made)),
              kErrComm);
    EXPECT_EQ(error_class_bits(api::intercomm_create(process, sides.local, 99, nullptr, 0, 0, &made)),
              kErrRank);
    EXPECT_EQ(error_class_bits(api::intercomm_create(process, sides.local, 0, nullptr, 0, 0, &made)),
              kErrComm);
    EXPECT_EQ(error_class_bits(api::intercomm_merge(process, sides.local, false, &made)), kErrComm);
    int value = 1;
    int result = 0;
    EXPECT_EQ(error_class_bits(api::scan(process, &value, &result, 1, sides.integer, sides.sum, sides.inter)),
              kErrComm);
    EXPECT_EQ(error_class_bits(
                  api::allreduce(process, kInPlace, &result, 1, sides.integer, sides.sum, sides.inter)),
              kErrBuffer);
    EXPECT_EQ(api::barrier(process, sides.inter), 0);
  });
}

TEST(Intercomm, TellsAllWhenAGroupDisagreesAboutHigh) {
  run_ranks(3, [](Process& process) {
    Sides sides(process, 2);
    Comm* made = nullptr;
    EXPECT_EQ(error_class_bits(api::intercomm_merge(process, sides.inter, process.rank == 1, &made)),
              kErrArg);
    EXPECT_EQ(api::barrier(process, sides.inter), 0);
  });
}

TEST(InterCollectives, RootedOnes) {
  on_all_cuts([](Sides& sides) {
    Process& process = sides.process;
    constexpr int kCount = 3;
    const int left_size = sides.is_left ? sides.size : sides.remote_size;
    for (int root = 0; root < left_size; ++root) {
      const int argument = sides.root_argument(root);
      std::vector<int> vector(kCount);
      for (int i = 0; i < kCount; ++i) vector[static_cast<std::size_t>(i)] = sides.value(true, sides.rank, i);

      std::vector<int> data = vector;
      call_all_ways(
          process,
          [&] {
            for (int i = 0; i < kCount; ++i) {
              const int expected =
                  sides.is_left ? sides.value(true, sides.rank, i) : sides.value(false, root, i);
              EXPECT_EQ(data[static_cast<std::size_t>(i)], expected);
            }
          },
          api::bcast, api::ibcast, api::bcast_init, data.data(), kCount, sides.integer, argument,
          sides.inter);

      std::vector<int> all(static_cast<std::size_t>(kCount * sides.remote_size), -1);
      call_all_ways(
          process,
          [&] {
            for (int at = 0; argument == kRoot && at < kCount * sides.remote_size; ++at)
              EXPECT_EQ(all[static_cast<std::size_t>(at)], sides.value(false, at / kCount, at % kCount));
          },
          api::gather, api::igather, api::gather_init, vector.data(), kCount, sides.integer, all.data(),
          kCount, sides.integer, argument, sides.inter);

      std::iota(all.begin(), all.end(), 0);
      int mine[kCount] = {-1, -1, -1};
      call_all_ways(
          process,
          [&] {
            for (int i = 0; !sides.is_left && i < kCount; ++i) EXPECT_EQ(mine[i], kCount * sides.rank + i);
          },
          api::scatter, api::iscatter, api::scatter_init, all.data(), kCount, sides.integer, mine, kCount,
          sides.integer, argument, sides.inter);

      int total[kCount] = {};
      call_all_ways(
          process,
          [&] {
            for (int i = 0; argument == kRoot && i < kCount; ++i) EXPECT_EQ(total[i], sides.remote_sum(i));
          },
          api::reduce, api::ireduce, api::reduce_init, vector.data(), total, kCount, sides.integer, sides.sum,
          argument, sides.inter);
    }
  });
}

TEST(InterCollectives, RootedOnesWithCountsThatDiffer) {
  on_all_cuts([](Sides& sides) {
    Process& process = sides.process;
    const int argument = sides.root_argument(0);
    // Rank r of the right group has r + 1 elements, at r (r + 1); every second block is a gap.
    std::vector<int> counts, places;
    for (int r = 0; r < sides.remote_size; ++r) {
      counts.push_back(r + 1);
      places.push_back(r * (r + 1));
    }
    const int own = sides.rank + 1;
    std::vector<int> mine(static_cast<std::size_t>(own), sides.value(true, sides.rank));
    std::vector<int> all(static_cast<std::size_t>(sides.remote_size * (sides.remote_size + 1)), -1);
    const auto check_all = [&] {
      for (int r = 0; argument == kRoot && r < sides.remote_size; ++r) {
        for (int i = 0; i < 2 * (r + 1); ++i) {
          const int expected = i < r + 1 ? sides.value(false, r) : -1;
          EXPECT_EQ(all[static_cast<std::size_t>(r * (r + 1) + i)], expected);
        }
      }
    };
    const CountArray count_array(counts.data());
    const CountArray place_array(places.data());
    call_all_ways(process, check_all, api::gatherv, api::igatherv, api::gatherv_init, mine.data(), own,
                  sides.integer, all.data(), count_array, place_array, sides.integer, argument, sides.inter);
    std::vector<int> back(static_cast<std::size_t>(own), -1);
    call_all_ways(
        process,
        [&] {
          if (!sides.is_left) {
            EXPECT_EQ(back, mine);
          }
        },
        api::scatterv, api::iscatterv, api::scatterv_init, all.data(), count_array, place_array,
        sides.integer, back.data(), own, sides.integer, argument, sides.inter);
  });
}

TEST(InterCollectives, ThoseOfAll) {
  on_all_cuts([](Sides& sides) {
    Process& process = sides.process;
    call_all_ways(
        process, [] {}, api::barrier, api::ibarrier, api::barrier_init, sides.inter);
    const int mine = sides.value(true, sides.rank);
    std::vector<int> all(static_cast<std::size_t>(sides.remote_size), -1);
    const auto check_all = [&] {
      for (int r = 0; r < sides.remote_size; ++r) {
        EXPECT_EQ(all[static_cast<std::size_t>(r)], sides.value(false, r));
        all[static_cast<std::size_t>(r)] = -1;
      }
    };
    call_all_ways(process, check_all, api::allgather, api::iallgather, api::allgather_init, &mine, 1,
                  sides.integer, all.data(), 1, sides.integer, sides.inter);
    int total = 0;
    call_all_ways(
        process, [&] { EXPECT_EQ(std::exchange(total, 0), sides.remote_sum()); }, api::allreduce,
        api::iallreduce, api::allreduce_init, &mine, &total, 1, sides.integer, sides.sum, sides.inter);

    std::vector<int> out(static_cast<std::size_t>(sides.remote_size));
    for (int r = 0; r < sides.remote_size; ++r)
      out[static_cast<std::size_t>(r)] = sides.value(true, sides.rank, r);
    const auto check_exchange = [&] {
      for (int r = 0; r < sides.remote_size; ++r) {
        EXPECT_EQ(all[static_cast<std::size_t>(r)], sides.value(false, r, sides.rank));
        all[static_cast<std::size_t>(r)] = -1;
      }
    };
    call_all_ways(process, check_exchange, api::alltoall, api::ialltoall, api::alltoall_init, out.data(), 1,
                  sides.integer, all.data(), 1, sides.integer, sides.inter);
    // The same by lists; the displacements of MPI_Alltoallw are in bytes.
    const std::vector<int> ones(static_cast<std::size_t>(sides.remote_size), 1);
    std::vector<int> places(static_cast<std::size_t>(sides.remote_size));
    std::iota(places.begin(), places.end(), 0);
    std::vector<int> bytes = places;
    for (int& place : bytes) place *= 4;
    const std::vector<Datatype*> types(static_cast<std::size_t>(sides.remote_size), sides.integer);
    const CountArray counts(ones.data());
    call_all_ways(process, check_exchange, api::alltoallv, api::ialltoallv, api::alltoallv_init, out.data(),
                  counts, CountArray(places.data()), sides.integer, all.data(), counts,
                  CountArray(places.data()), sides.integer, sides.inter);
    call_all_ways(process, check_exchange, api::alltoallw, api::ialltoallw, api::alltoallw_init, out.data(),
                  counts, CountArray(bytes.data()), types.data(), all.data(), counts,
                  CountArray(bytes.data()), types.data(), sides.inter);
    call_all_ways(process, check_all, api::allgatherv, api::iallgatherv, api::allgatherv_init, &mine, 1,
                  sides.integer, all.data(), counts, CountArray(places.data()), sides.integer, sides.inter);
  });
}

TEST(InterCollectives, ReduceScatter) {
  on_all_cuts([](Sides& sides) {
    Process& process = sides.process;
    // Vectors of size * remote_size elements, the same number on both sides.
    const int count = sides.size * sides.remote_size;
    std::vector<int> vector(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) vector[static_cast<std::size_t>(i)] = sides.value(true, sides.rank, i);
    std::vector<int> part(static_cast<std::size_t>(count), -1);
    const auto check_part = [&](int first, int own) {
      for (int i = 0; i < count; ++i)
        EXPECT_EQ(part[static_cast<std::size_t>(i)], i < own ? sides.remote_sum(first + i) : -1);
    };
    const int share = sides.remote_size;
    call_all_ways(
        process, [&] { check_part(sides.rank * share, share); }, api::reduce_scatter_block,
        api::ireduce_scatter_block, api::reduce_scatter_block_init, vector.data(), part.data(), share,
        sides.integer, sides.sum, sides.inter);
    // Everything to the last rank, nothing to the others.
    std::vector<int> counts(static_cast<std::size_t>(sides.size), 0);
    counts.back() = count;
    std::fill(part.begin(), part.end(), -1);
    call_all_ways(
        process, [&] { check_part(0, sides.rank == sides.size - 1 ? count : 0); }, api::reduce_scatter,
        api::ireduce_scatter, api::reduce_scatter_init, vector.data(), part.data(), CountArray(counts.data()),
        sides.integer, sides.sum, sides.inter);
  });
}

TEST(InterCollectives, ManyAtOnceStayApart) {
  on_all_cuts([](Sides& sides) {
    constexpr int kMany = 20;
    std::vector<int> mine(kMany), totals(kMany, 0);
    std::vector<Request*> requests(kMany);
    for (int i = 0; i < kMany; ++i) {
      const auto at = static_cast<std::size_t>(i);
      mine[at] = sides.value(true, sides.rank, i);
      ASSERT_EQ(api::iallreduce(sides.process, &mine[at], &totals[at], 1, sides.integer, sides.sum,
                                sides.inter, &requests[at]),
                0);
    }
    // In between, a communicator is made from this one, whose exchange uses the local communicator too.
    Comm* twin = nullptr;
    ASSERT_EQ(api::comm_split(sides.process, sides.inter, 0, 0, &twin), 0);
    ASSERT_EQ(api::waitall(sides.process, kMany, requests.data(), nullptr), 0);
    for (int i = 0; i < kMany; ++i) EXPECT_EQ(totals[static_cast<std::size_t>(i)], sides.remote_sum(i));
    ASSERT_EQ(api::comm_free(sides.process, &twin), 0);
  });
}

}  // namespace
}  // namespace tasuki::test
