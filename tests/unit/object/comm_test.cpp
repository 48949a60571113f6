// Shows that communicators are made with the right members in the right order, that messages stay inside
// them, that bad arguments on one rank hang no other, and how they end.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "coll/api.hpp"
#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::run_ranks;

std::vector<int> world_ranks(Comm& comm) {
  return comm.group->endpoints;
}

/// Every member learns the sum of the members' world ranks: shows that the communicator carries messages.
int sum_of_ranks(Process& process, Comm* comm) {
  std::vector<int> all(static_cast<std::size_t>(comm->size()), -1);
  EXPECT_EQ(allgather_bytes(*comm, &process.rank, all.data(), sizeof(int)), kSuccess);
  int sum = 0;
  for (const int rank : all) sum += rank;
  return sum;
}

void free_comm(Process& process, Comm* comm) {
  EXPECT_EQ(api::comm_free(process, &comm), kSuccess);
  EXPECT_EQ(comm, nullptr);
}

TEST(Comm, WorldAndSelf) {
  run_ranks(3, [](Process& process) {
    Comm* world = process.objects->world;
    Comm* self = process.objects->self;
    int size = 0;
    int rank = -1;
    EXPECT_EQ(api::comm_size(process, world, &size), kSuccess);
    EXPECT_EQ(api::comm_rank(process, world, &rank), kSuccess);
    EXPECT_EQ(size, 3);
    EXPECT_EQ(rank, process.rank);
    EXPECT_EQ(self->size(), 1);
    EXPECT_EQ(self->rank, 0);
    EXPECT_EQ(self->endpoint(0), process.rank);
    EXPECT_EQ(world->predefined, kMpiCommWorld);
    std::string name;
    EXPECT_EQ(api::comm_get_name(process, world, &name), kSuccess);
    EXPECT_EQ(name, "MPI_COMM_WORLD");
    EXPECT_EQ(api::comm_get_name(process, nullptr, &name), kSuccess);
    EXPECT_EQ(name, "MPI_COMM_NULL");
    int result = 0;
    EXPECT_EQ(api::comm_compare(process, world, self, &result), kSuccess);
    EXPECT_EQ(result, static_cast<int>(Comparison::kUnequal));
    EXPECT_EQ(api::comm_compare(process, world, world, &result), kSuccess);
    EXPECT_EQ(result, static_cast<int>(Comparison::kIdent));
    EXPECT_EQ(error_class_bits(api::comm_free(process, &world)), kErrComm);
    EXPECT_EQ(error_class_bits(api::comm_disconnect(process, &self)), kErrComm);
    EXPECT_NE(world, nullptr);
  });
}

TEST(Comm, SplitOrdersByKeyThenRank) {
  run_ranks(6, [](Process& process) {
    Comm* world = process.objects->world;
    Comm* half = nullptr;
    // Even ranks in reverse order; odd ranks all with one key, so in their old order.
    const int color = process.rank % 2;
    ASSERT_EQ(api::comm_split(process, world, color, color == 0 ? -process.rank : 7, &half), kSuccess);
    EXPECT_EQ(world_ranks(*half), color == 0 ? (std::vector<int>{4, 2, 0}) : (std::vector<int>{1, 3, 5}));
    EXPECT_EQ(half->endpoint(half->rank), process.rank);
    EXPECT_EQ(sum_of_ranks(process, half), color == 0 ? 6 : 9);
    Comm* none = half;
    ASSERT_EQ(api::comm_split(process, half, half->rank == 0 ? kUndefined : 0, 0, &none), kSuccess);
    EXPECT_EQ(none == nullptr, half->rank == 0);
    if (none != nullptr) {
      EXPECT_EQ(none->size(), 2);
      free_comm(process, none);
    }
    free_comm(process, half);
  });
}

TEST(Comm, BadColorOnOneRankHangsNobody) {
  run_ranks(3, [](Process& process) {
    Comm* made = nullptr;
    const Code code = api::comm_split(process, process.objects->world, process.rank == 1 ? -5 : 0, 0, &made);
    if (process.rank == 1) {
      EXPECT_EQ(error_class_bits(code), kErrArg);
      EXPECT_NE(process.errors.text(code).find("color = -5"), std::string::npos);
      EXPECT_EQ(made, nullptr);
    } else {
      ASSERT_EQ(code, kSuccess);
      EXPECT_EQ(world_ranks(*made), (std::vector<int>{0, 2}));
      free_comm(process, made);
    }
  });
}

TEST(Comm, DuplicateIsCongruentAndApart) {
  run_ranks(4, [](Process& process) {
    Comm* world = process.objects->world;
    Comm* duplicate = nullptr;
    ASSERT_EQ(api::comm_dup(process, world, &duplicate), kSuccess);
    int result = 0;
    EXPECT_EQ(api::comm_compare(process, world, duplicate, &result), kSuccess);
    EXPECT_EQ(result, static_cast<int>(Comparison::kCongruent));
    EXPECT_NE(world->context, duplicate->context);
    EXPECT_EQ(duplicate->name, "");
    // The same source and tag on both: each receive gets the message of its own communicator.
    Datatype* type = predefined_object<Datatype>(*process.objects, kMpiInt);
    if (process.rank == 0) {
      int one = 1;
      int two = 2;
      EXPECT_EQ(api::send(process, &one, 1, type, 1, 0, world), kSuccess);
      EXPECT_EQ(api::send(process, &two, 1, type, 1, 0, duplicate), kSuccess);
    } else if (process.rank == 1) {
      int value = 0;
      EXPECT_EQ(api::recv(process, &value, 1, type, 0, 0, duplicate, nullptr), kSuccess);
      EXPECT_EQ(value, 2);
      EXPECT_EQ(api::recv(process, &value, 1, type, 0, 0, world, nullptr), kSuccess);
      EXPECT_EQ(value, 1);
    }
    free_comm(process, duplicate);
  });
}

TEST(Comm, NonblockingDuplicatesOverlap) {
  run_ranks(4, [](Process& process) {
    Comm* world = process.objects->world;
    Comm* made[3] = {};
    Request* requests[3] = {};
    for (int i = 0; i < 3; ++i) ASSERT_EQ(api::comm_idup(process, world, &made[i], &requests[i]), kSuccess);
    for (int i : {2, 0, 1}) ASSERT_EQ(api::wait(process, &requests[i], nullptr), kSuccess);
    for (Comm* comm : made) EXPECT_EQ(sum_of_ranks(process, comm), 6);
    Context contexts[3] = {made[0]->context, made[1]->context, made[2]->context};
    std::sort(contexts, contexts + 3);
    EXPECT_EQ(std::unique(contexts, contexts + 3), contexts + 3);
    for (Comm* comm : made) free_comm(process, comm);
  });
}

TEST(Comm, CreateFromDisjointGroups) {
  run_ranks(5, [](Process& process) {
    Comm* world = process.objects->world;
    Group* all = nullptr;
    ASSERT_EQ(api::comm_group(process, world, &all), kSuccess);
    // {3, 0}, {1, 4}, and rank 2 in none.
    const int lists[2][2] = {{3, 0}, {1, 4}};
    const int which = process.rank == 3 || process.rank == 0 ? 0 : 1;
    Group* group = nullptr;
    ASSERT_EQ(api::group_incl(process, all, 2, lists[which], &group), kSuccess);
    Comm* made = nullptr;
    ASSERT_EQ(api::comm_create(process, world, group, &made), kSuccess);
    EXPECT_EQ(made == nullptr, process.rank == 2);
    if (made != nullptr) {
      EXPECT_EQ(world_ranks(*made), std::vector<int>(lists[which], lists[which] + 2));
      EXPECT_EQ(sum_of_ranks(process, made), which == 0 ? 3 : 5);
      free_comm(process, made);
    }
    EXPECT_EQ(api::group_free(process, &group), kSuccess);
    EXPECT_EQ(api::group_free(process, &all), kSuccess);
  });
}

TEST(Comm, CreateRefusesDifferentGroups) {
  run_ranks(3, [](Process& process) {
    Comm* world = process.objects->world;
    const std::vector<int> orders[2] = {{0, 1}, {1, 0}};
    Group* group = make_group(process, orders[process.rank % 2]);
    Comm* made = nullptr;
    const Code code = api::comm_create(process, world, group, &made);
    EXPECT_EQ(error_class_bits(code), process.rank == 2 ? kSuccess : kErrGroup);
    EXPECT_EQ(made, nullptr);
    release(group);

    // One rank's group is not part of the communicator; the others are told.
    Comm* pair = nullptr;
    ASSERT_EQ(api::comm_split(process, world, process.rank < 2 ? 0 : 1, 0, &pair), kSuccess);
    if (process.rank < 2) {
      Group* wrong = make_group(process, process.rank == 0 ? std::vector<int>{0, 2} : std::vector<int>{0, 1});
      EXPECT_EQ(error_class_bits(api::comm_create(process, pair, wrong, &made)), kErrGroup);
      release(wrong);
    }
    free_comm(process, pair);
  });
}

TEST(Comm, CreateGroupNeedsOnlyItsMembers) {
  for (const int size : {1, 2, 3, 5, 8}) {
    run_ranks(size, [](Process& process) {
      Comm* world = process.objects->world;
      // All but rank 0 of a world of more than one, backwards.
      std::vector<int> members;
      for (int rank = process.size - 1; rank >= (process.size > 1 ? 1 : 0); --rank) members.push_back(rank);
      if (process.size > 1 && process.rank == 0) return;
      Group* group = make_group(process, members);
      Comm* first = nullptr;
      Comm* second = nullptr;
      ASSERT_EQ(api::comm_create_group(process, world, group, 5, &first), kSuccess);
      ASSERT_EQ(api::comm_create_group(process, first, group, 5, &second), kSuccess);
      EXPECT_EQ(world_ranks(*first), members);
      EXPECT_NE(first->context, second->context);
      EXPECT_EQ(sum_of_ranks(process, second), process.size * (process.size - 1) / 2);
      free_comm(process, first);
      free_comm(process, second);
      EXPECT_EQ(error_class_bits(api::comm_create_group(process, world, group, -1, &first)), kErrTag);
      release(group);
    });
  }
}

TEST(Comm, FreeWaitsForPendingOperations) {
  run_ranks(2, [](Process& process) {
    Datatype* type = predefined_object<Datatype>(*process.objects, kMpiInt);
    Comm* made = nullptr;
    ASSERT_EQ(api::comm_dup(process, process.objects->world, &made), kSuccess);
    Request* request = nullptr;
    int value = process.rank == 0 ? 41 : 0;
    if (process.rank == 1) {
      ASSERT_EQ(api::irecv(process, &value, 1, type, 0, 3, made, &request), kSuccess);
      Comm* freed = made;
      free_comm(process, freed);
      ASSERT_EQ(api::barrier(process, process.objects->world), kSuccess);
    } else {
      ASSERT_EQ(api::barrier(process, process.objects->world), kSuccess);
      ASSERT_EQ(api::isend(process, &value, 1, type, 1, 3, made, &request), kSuccess);
      Comm* freed = made;
      free_comm(process, freed);
    }
    ASSERT_EQ(api::wait(process, &request, nullptr), kSuccess);
    EXPECT_EQ(value, 41);
  });
}

TEST(Comm, DisconnectWaitsForWhatWasFreed) {
  run_ranks(2, [](Process& process) {
    Datatype* type = predefined_object<Datatype>(*process.objects, kMpiInt);
    Comm* made = nullptr;
    ASSERT_EQ(api::comm_dup(process, process.objects->world, &made), kSuccess);
    // Long enough to wait for its receive; no call waits for the request.
    std::vector<int> values(100000, process.rank == 0 ? 7 : 0);
    Request* request = nullptr;
    Request* persistent = nullptr;
    ASSERT_EQ(api::recv_init(process, values.data(), 1, type, kProcNull, 0, made, &persistent), kSuccess);
    if (process.rank == 0) {
      ASSERT_EQ(api::isend(process, values.data(), 100000, type, 1, 0, made, &request), kSuccess);
      ASSERT_EQ(api::request_free(process, &request), kSuccess);
    } else {
      ASSERT_EQ(api::recv(process, values.data(), 100000, type, 0, 0, made, nullptr), kSuccess);
      EXPECT_EQ(values.back(), 7);
    }
    EXPECT_EQ(api::comm_disconnect(process, &made), kSuccess);
    EXPECT_EQ(made, nullptr);
    values.clear();
    ASSERT_EQ(api::request_free(process, &persistent), kSuccess);
  });
}

TEST(Comm, HintsAreKnownOrIgnored) {
  run_ranks(2, [](Process& process) {
    Info* info = nullptr;
    ASSERT_EQ(api::info_create(process, &info), kSuccess);
    api::info_set(process, info, "mpi_assert_no_any_tag", "true");
    api::info_set(process, info, "mpi_assert_exact_length", "maybe");
    api::info_set(process, info, "colour", "red");
    Comm* made = nullptr;
    ASSERT_EQ(api::comm_dup_with_info(process, process.objects->world, info, &made), kSuccess);
    Info* used = nullptr;
    ASSERT_EQ(api::comm_get_info(process, made, &used), kSuccess);
    EXPECT_EQ(*find_info(used, "mpi_assert_no_any_tag"), "true");
    EXPECT_EQ(*find_info(used, "mpi_assert_exact_length"), "false");
    EXPECT_EQ(find_info(used, "colour"), nullptr);
    // A plain duplicate does not inherit hints (MPI 7.4.2).
    Comm* plain = nullptr;
    ASSERT_EQ(api::comm_dup(process, made, &plain), kSuccess);
    Info* inherited = nullptr;
    ASSERT_EQ(api::comm_get_info(process, plain, &inherited), kSuccess);
    EXPECT_EQ(*find_info(inherited, "mpi_assert_no_any_tag"), "false");
    for (Info* one : {info, used, inherited}) api::info_free(process, &one);
    free_comm(process, made);
    free_comm(process, plain);
  });
}

TEST(Comm, RemoteQuestionsNeedAnIntercommunicator) {
  run_ranks(1, [](Process& process) {
    Comm* world = process.objects->world;
    bool inter = true;
    int size = 0;
    Group* group = nullptr;
    EXPECT_EQ(api::comm_test_inter(process, world, &inter), kSuccess);
    EXPECT_FALSE(inter);
    EXPECT_EQ(error_class_bits(api::comm_remote_size(process, world, &size)), kErrComm);
    EXPECT_EQ(error_class_bits(api::comm_remote_group(process, world, &group)), kErrComm);
    const std::string longer(200, 'n');
    std::string name;
    EXPECT_EQ(api::comm_set_name(process, world, longer.c_str()), kSuccess);
    EXPECT_EQ(api::comm_get_name(process, world, &name), kSuccess);
    EXPECT_EQ(name, std::string(127, 'n'));
  });
}

}  // namespace
}  // namespace tasuki
