// The schedules that move data (broadcast, gather, scatter, allgather, all-to-all) put every element where it
// belongs, for all sizes, roots, datatypes with gaps, in place or not, and cost what their formulas say.
#include <gtest/gtest.h>

#include "coll/move_cases.hpp"

namespace tasuki::test {
namespace {

TEST(MoveSchedules, BcastBinomial) {
  for_cases([](const Case& c) { check_bcast(c, bcast_binomial, bcast_binomial_cost, true); });
}

TEST(MoveSchedules, BcastScatterRing) {
  for_cases([](const Case& c) { check_bcast(c, bcast_scatter_ring, bcast_scatter_ring_cost, false); });
}

TEST(MoveSchedules, BcastScatterDoubling) {
  for_cases([](const Case& c) {
    if (power_of_two(c.size)) check_bcast(c, bcast_scatter_doubling, bcast_scatter_doubling_cost, false);
  });
}

TEST(MoveSchedules, GatherLinear) {
  for_cases([](const Case& c) {
    check_gather(c, gather_linear, gather_linear_cost, false, nullptr);
    check_gather(c, gather_linear, gather_linear_cost, true, nullptr);
  });
}

TEST(MoveSchedules, GatherBinomial) {
  for_cases([](const Case& c) {
    check_gather(c, gather_binomial, gather_binomial_cost, false, nullptr);
    check_gather(c, gather_binomial, gather_binomial_cost, true, nullptr);
  });
}

TEST(MoveSchedules, GathervLinear) {
  for_cases([](const Case& c) {
    const Layout layout(c.size);
    check_gather(c, gather_linear, gather_linear_cost, c.count % 2 == 0, &layout);
  });
}

TEST(MoveSchedules, ScatterLinear) {
  for_cases([](const Case& c) {
    check_scatter(c, scatter_linear, scatter_linear_cost, false, nullptr);
    check_scatter(c, scatter_linear, scatter_linear_cost, true, nullptr);
  });
}

TEST(MoveSchedules, ScatterBinomial) {
  for_cases([](const Case& c) {
    check_scatter(c, scatter_binomial, scatter_binomial_cost, false, nullptr);
    check_scatter(c, scatter_binomial, scatter_binomial_cost, true, nullptr);
  });
}

TEST(MoveSchedules, ScattervLinear) {
  for_cases([](const Case& c) {
    const Layout layout(c.size);
    check_scatter(c, scatter_linear, scatter_linear_cost, c.count % 2 == 0, &layout);
  });
}

TEST(MoveSchedules, AllgatherRecursiveDoubling) {
  for_cases([](const Case& c) {
    if (!power_of_two(c.size) || c.root != 0) return;
    check_allgather(c, allgather_recursive_doubling, allgather_recursive_doubling_cost, false, nullptr);
    check_allgather(c, allgather_recursive_doubling, allgather_recursive_doubling_cost, true, nullptr);
  });
}

TEST(MoveSchedules, AllgatherBruck) {
  for_cases([](const Case& c) {
    if (c.root != 0) return;
    const Layout layout(c.size);
    for (bool in_place : {false, true}) {
      check_allgather(c, allgather_bruck, allgather_bruck_cost, in_place, nullptr);
      check_allgather(c, allgather_bruck, allgather_bruck_cost, in_place, &layout);
    }
  });
}

TEST(MoveSchedules, AllgatherRing) {
  for_cases([](const Case& c) {
    if (c.root != 0) return;
    const Layout layout(c.size);
    for (bool in_place : {false, true}) {
      check_allgather(c, allgather_ring, allgather_ring_cost, in_place, nullptr);
      check_allgather(c, allgather_ring, allgather_ring_cost, in_place, &layout);
    }
  });
}

enum class Alltoall { kPairwise, kPairwiseWindow, kExchange, kExchangeWindow, kBruck, kBruckInPlace };

void check_alltoall(const Case& c, Alltoall algorithm) {
  const bool in_place = algorithm == Alltoall::kExchange || algorithm == Alltoall::kExchangeWindow ||
                        algorithm == Alltoall::kBruckInPlace;
  std::vector<SimulatedRank> ranks(static_cast<std::size_t>(c.size));
  const TypeShape in_type = kShapes[static_cast<std::size_t>(c.count) % 4];
  const Blocks in{.type = in_type, .count = c.count};
  const Blocks out =
      in_place
          ? in
          : Blocks{
                .space = Space::kSend, .element = ElementType::kSendType, .type = c.type, .count = c.count};
  for (int rank = 0; rank < c.size; ++rank) {
    SimulatedRank& r = ranks[static_cast<std::size_t>(rank)];
    r.send_type = c.type;
    r.receive_type = in_type;
    make_room(&r.send, &r.send_base, c.size * c.count, c.type);
    make_room(&r.receive, &r.receive_base, c.size * c.count, in_type);
    Bytes& from = in_place ? r.receive : r.send;
    const Count base = in_place ? r.receive_base : r.send_base;
    for (int to = 0; to < c.size; ++to) {
      for (Count i = 0; i < c.count; ++i)
        put(from, at(base + out.place_of(to).offset, out.type, i), value_of(rank, to, i));
    }
    const Member self{rank, c.size};
    switch (algorithm) {
      case Alltoall::kPairwise:
        alltoall_pairwise(r.schedule, self, out, in, 1);
        break;
      // The windows of the ranks differ.
      case Alltoall::kPairwiseWindow:
        alltoall_pairwise(r.schedule, self, out, in, 100 * rank);
        break;
      case Alltoall::kExchange:
        alltoall_exchange(r.schedule, self, in, 1);
        break;
      case Alltoall::kExchangeWindow:
        alltoall_exchange(r.schedule, self, in, 100 * rank);
        break;
      case Alltoall::kBruck:
      case Alltoall::kBruckInPlace:
        alltoall_bruck(r.schedule, self, out, in);
        break;
    }
  }
  run(ranks, c);
  for (int to = 0; to < c.size; ++to) {
    const SimulatedRank& r = ranks[static_cast<std::size_t>(to)];
    for (int from = 0; from < c.size; ++from) {
      for (Count i = 0; i < c.count; ++i) {
        ASSERT_EQ(get(r.receive, at(r.receive_base + in.place_of(from).offset, in_type, i)),
                  value_of(from, to, i))
            << from << " to " << to;
      }
    }
  }
  if (c.count == 0) return;  // pairwise sends no empty blocks
  const auto bytes = static_cast<double>(4 * c.count);
  const Cost formula = algorithm == Alltoall::kExchange ? alltoall_exchange_cost(c.size, bytes, 1)
                       : algorithm == Alltoall::kPairwise || algorithm == Alltoall::kPairwiseWindow
                           ? alltoall_pairwise_cost(c.size, bytes)
                           : alltoall_bruck_cost(c.size, bytes);
  if (algorithm == Alltoall::kPairwiseWindow || algorithm == Alltoall::kExchangeWindow) return;
  const bool early = algorithm == Alltoall::kExchange;
  expect_cost(measure_cost(ranks), formula, power_of_two(c.size) && !early, 2.5, early);
}

TEST(MoveSchedules, Alltoall) {
  for_cases([](const Case& c) {
    if (c.root != 0 || c.count > 16) return;
    check_alltoall(c, Alltoall::kPairwise);
    check_alltoall(c, Alltoall::kPairwiseWindow);
    check_alltoall(c, Alltoall::kExchange);
    check_alltoall(c, Alltoall::kExchangeWindow);
    check_alltoall(c, Alltoall::kBruck);
    check_alltoall(c, Alltoall::kBruckInPlace);
  });
}

/// MPI_Alltoallw: from rank i to rank j go (i + 2 j) % 4 elements, with datatypes that differ on both sides,
/// at displacements in bytes.
void check_alltoallw(int size, bool in_place) {
  const auto count = [&](int from, int to) {
    return static_cast<Count>(in_place ? (from + to) % 4 : (from + 2 * to) % 4);
  };
  const auto n = static_cast<std::size_t>(size);
  std::vector<SimulatedRank> ranks(n);
  constexpr Count kStride = 64;
  std::vector<std::vector<Count>> send_counts(n), receive_counts(n);
  std::vector<Count> displacements(n), sizes(n, 4);
  for (std::size_t peer = 0; peer < n; ++peer) displacements[peer] = static_cast<Count>(n - peer) * kStride;
  for (int rank = 0; rank < size; ++rank) {
    const auto me = static_cast<std::size_t>(rank);
    SimulatedRank& r = ranks[me];
    for (int peer = 0; peer < size; ++peer) {
      send_counts[me].push_back(count(rank, peer));
      receive_counts[me].push_back(count(peer, rank));
      r.send_types.push_back(kShapes[(me + static_cast<std::size_t>(peer)) % 4]);
      r.receive_types.push_back(kShapes[(3 * me + static_cast<std::size_t>(peer)) % 4]);
    }
    make_room(&r.send, &r.send_base, size + 2, {.size = 4, .extent = kStride});
    make_room(&r.receive, &r.receive_base, size + 2, {.size = 4, .extent = kStride});
    Bytes& from = in_place ? r.receive : r.send;
    const auto& types = in_place ? r.receive_types : r.send_types;
    for (std::size_t peer = 0; peer < n; ++peer) {
      for (Count i = 0; i < count(rank, static_cast<int>(peer)); ++i)
        put(from, at((in_place ? r.receive_base : r.send_base) + displacements[peer], types[peer], i),
            value_of(rank, static_cast<int>(peer), i));
    }
    const Blocks in{.element = ElementType::kReceiveTypeOfPeer,
                    .counts = CountArray(receive_counts[me].data()),
                    .displacements = CountArray(displacements.data()),
                    .displacement_bytes = 1,
                    .sizes = CountArray(sizes.data())};
    Blocks out = in;
    out.space = Space::kSend;
    out.element = ElementType::kSendTypeOfPeer;
    out.counts = CountArray(send_counts[me].data());
    if (in_place) {
      alltoall_exchange(r.schedule, {rank, size}, in, 8 * rank);
    } else {
      alltoall_pairwise(r.schedule, {rank, size}, out, in, 1 << 20);
    }
  }
  Simulation(ranks, nullptr, static_cast<unsigned>(size)).run();
  for (int to = 0; to < size; ++to) {
    const SimulatedRank& r = ranks[static_cast<std::size_t>(to)];
    for (int from = 0; from < size; ++from) {
      const auto peer = static_cast<std::size_t>(from);
      for (Count i = 0; i < count(from, to); ++i) {
        ASSERT_EQ(get(r.receive, at(r.receive_base + displacements[peer], r.receive_types[peer], i)),
                  value_of(from, to, i))
            << from << " to " << to;
      }
    }
  }
}

TEST(MoveSchedules, Alltoallw) {
  for (int size = 1; size <= kSizeMax; ++size) {
    SCOPED_TRACE(size);
    check_alltoallw(size, false);
    check_alltoallw(size, true);
  }
}

TEST(MoveSchedules, BarrierLetsNobodyOutBeforeAllAreIn) {
  for (int size = 1; size <= 64; ++size) {
    std::vector<SimulatedRank> ranks(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank)
      barrier_dissemination(ranks[static_cast<std::size_t>(rank)].schedule, {rank, size});
    // After each round, which ranks a rank has heard of, directly or through others.
    const auto n = static_cast<std::size_t>(size);
    std::vector<std::vector<bool>> heard(n, std::vector<bool>(n));
    for (std::size_t rank = 0; rank < n; ++rank) heard[rank][rank] = true;
    for (std::size_t round = 0; round < ranks[0].schedule.round_ends.size(); ++round) {
      const auto before = heard;
      for (std::size_t rank = 0; rank < n; ++rank) {
        const Step& receive = ranks[rank].schedule.steps[2 * round];
        ASSERT_EQ(receive.action, Step::Action::kReceive);
        for (std::size_t who = 0; who < n; ++who)
          heard[rank][who] = heard[rank][who] || before[static_cast<std::size_t>(receive.peer)][who];
      }
    }
    for (std::size_t rank = 0; rank < n; ++rank) EXPECT_EQ(heard[rank], std::vector<bool>(n, true));
    Simulation(ranks, nullptr, 1).run();
    expect_cost(measure_cost(ranks), barrier_dissemination_cost(size), true);
  }
}

}  // namespace
}  // namespace tasuki::test
