// The schedules that move data (broadcast, gather, scatter, allgather, all-to-all) put every element where it
// belongs, for all sizes, roots, datatypes with gaps, in place or not, and cost what their formulas say.
#include <gtest/gtest.h>

#include "coll/simulation.hpp"

namespace tasuki::test {
namespace {

constexpr int kSizeMax = 17;
constexpr TypeShape kDense{.size = 4, .extent = 4, .true_lb = 0, .true_extent = 4, .contiguous = true};
constexpr TypeShape kGaps{.size = 4, .extent = 12, .true_lb = 0, .true_extent = 4, .contiguous = false};
constexpr TypeShape kShifted{.size = 4, .extent = 8, .true_lb = 4, .true_extent = 4, .contiguous = false};
constexpr TypeShape kBackwards{.size = 4, .extent = -8, .true_lb = -4, .true_extent = 4, .contiguous = false};
const TypeShape kShapes[] = {kDense, kGaps, kShifted, kBackwards};

constexpr std::uint8_t kUntouched = 0x5a;

/// The value of element `index` of what `from` sends to `to`.
std::uint32_t value_of(int from, int to, Count index) {
  return static_cast<std::uint32_t>(((from + 1) * 131 + to) * 1009 + index);
}

/// A buffer whose address 0 has room on both sides, for `count` elements of `type`.
void make_room(Bytes* buffer, Count* base, Count count, const TypeShape& type) {
  const Count room = (count + 2) * std::abs(type.extent) + 64;
  buffer->assign(static_cast<std::size_t>(2 * room), kUntouched);
  *base = room;
}

void put(Bytes& buffer, Count at, std::uint32_t value) {
  std::memcpy(buffer.data() + at, &value, sizeof value);
}

std::uint32_t get(const Bytes& buffer, Count at) {
  std::uint32_t value;
  std::memcpy(&value, buffer.data() + at, sizeof value);
  return value;
}

/// Byte offset of an element's data: `first` elements into the buffer and `index` more.
Count at(Count base, const TypeShape& type, Count element) {
  return base + element * type.extent + type.true_lb;
}

/// The user's counts and displacements for tests of the vector forms: block i has (i * 3) % 5 elements, and
/// the blocks lie in the reverse order with gaps.
struct Layout {
  std::vector<Count> counts, displacements;
  Count elements = 0;
  explicit Layout(int size) {
    counts.resize(static_cast<std::size_t>(size));
    displacements.resize(static_cast<std::size_t>(size));
    for (int rank = size - 1; rank >= 0; --rank) {
      counts[static_cast<std::size_t>(rank)] = rank * 3 % 5;
      displacements[static_cast<std::size_t>(rank)] = elements;
      elements += rank * 3 % 5 + 1;
    }
  }
  Blocks blocks(Space space, ElementType element, const TypeShape& type) const {
    return {.space = space,
            .element = element,
            .type = type,
            .counts = CountArray(counts.data()),
            .displacements = CountArray(displacements.data()),
            .displacement_bytes = type.extent};
  }
};

struct Case {
  int size;
  int root;
  Count count;
  TypeShape type;
};

/// Calls `body` for the sizes 1 to 17, 32 and 64, some roots, counts and types.
template <class Body>
void for_cases(Body&& body) {
  for (int size = 1; size <= 64; size = size < kSizeMax ? size + 1 : size < 32 ? 32 : 2 * size) {
    for (int root : {0, size / 2, size - 1}) {
      for (Count count : {Count{0}, Count{1}, Count{2}, Count{7}, Count{64}, Count{2} * size}) {
        if (size > kSizeMax && (root > size / 2 || count > 7)) continue;
        const TypeShape& type = kShapes[static_cast<std::size_t>(size + root + count) % 4];
        SCOPED_TRACE(testing::Message()
                     << size << " ranks, root " << root << ", count " << count << ", extent " << type.extent);
        body(Case{size, root, count, type});
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

bool power_of_two(int size) {
  return (size & (size - 1)) == 0;
}

void run(std::vector<SimulatedRank>& ranks, const Case& c, unsigned seed = 1) {
  Simulation(ranks, nullptr, seed + static_cast<unsigned>(c.size * 100 + c.root)).run();
}

using BcastSchedule = void (*)(Schedule&, Member, int, const Elements&);

void check_bcast(const Case& c, BcastSchedule algorithm, Cost (*formula)(int, double), bool any_count) {
  std::vector<SimulatedRank> ranks(static_cast<std::size_t>(c.size));
  for (int rank = 0; rank < c.size; ++rank) {
    SimulatedRank& r = ranks[static_cast<std::size_t>(rank)];
    // Each rank has a datatype of its own; only the bytes in all agree.
    r.receive_type = rank % 2 == 0 ? c.type : kShapes[static_cast<std::size_t>(rank) % 4];
    make_room(&r.receive, &r.receive_base, c.count, r.receive_type);
    for (Count i = 0; rank == c.root && i < c.count; ++i)
      put(r.receive, at(r.receive_base, r.receive_type, i), value_of(c.root, 0, i));
    algorithm(r.schedule, {rank, c.size}, c.root, {.type = r.receive_type, .count = c.count});
  }
  run(ranks, c);
  for (const SimulatedRank& r : ranks) {
    for (Count i = 0; i < c.count; ++i)
      ASSERT_EQ(get(r.receive, at(r.receive_base, r.receive_type, i)), value_of(c.root, 0, i));
  }
  if (any_count || 4 * c.count % c.size == 0) {
    expect_cost(measure_cost(ranks), formula(c.size, static_cast<double>(4 * c.count)), power_of_two(c.size));
  }
}

TEST(MoveSchedules, BcastBinomial) {
  for_cases([](const Case& c) { check_bcast(c, bcast_binomial, bcast_binomial_cost, true); });
}

TEST(MoveSchedules, BcastScatterRing) {
  for_cases([](const Case& c) { check_bcast(c, bcast_scatter_ring, bcast_scatter_ring_cost, false); });
}

using GatherSchedule = void (*)(Schedule&, Member, int, const Elements&, const Blocks&);

void check_gather(const Case& c, GatherSchedule algorithm, Cost (*formula)(int, double), bool in_place,
                  const Layout* layout) {
  std::vector<SimulatedRank> ranks(static_cast<std::size_t>(c.size));
  const TypeShape all_type = kShapes[static_cast<std::size_t>(c.count) % 4];
  Blocks all{.type = all_type, .count = c.count};
  if (layout != nullptr) all = layout->blocks(Space::kReceive, ElementType::kReceiveType, all_type);
  for (int rank = 0; rank < c.size; ++rank) {
    SimulatedRank& r = ranks[static_cast<std::size_t>(rank)];
    const bool is_root = rank == c.root;
    r.send_type = c.type;
    const Count mine_count = all.count_of(rank);
    make_room(&r.send, &r.send_base, mine_count, c.type);
    for (Count i = 0; i < mine_count; ++i) put(r.send, at(r.send_base, c.type, i), value_of(rank, c.root, i));
    Elements mine{
        .space = Space::kSend, .element = ElementType::kSendType, .type = c.type, .count = mine_count};
    if (is_root) {
      r.receive_type = all_type;
      make_room(&r.receive, &r.receive_base, layout != nullptr ? layout->elements : c.size * c.count,
                all_type);
      mine.in_place = in_place;
      for (Count i = 0; in_place && i < mine_count; ++i)
        put(r.receive, at(r.receive_base + all.place_of(rank).offset, all_type, i),
            value_of(rank, c.root, i));
    }
    algorithm(r.schedule, {rank, c.size}, c.root, mine, is_root ? all : Blocks{});
  }
  run(ranks, c);
  const SimulatedRank& root = ranks[static_cast<std::size_t>(c.root)];
  for (int from = 0; from < c.size; ++from) {
    for (Count i = 0; i < all.count_of(from); ++i) {
      ASSERT_EQ(get(root.receive, at(root.receive_base + all.place_of(from).offset, all_type, i)),
                value_of(from, c.root, i))
          << "from " << from;
    }
  }
  if (layout == nullptr)
    expect_cost(measure_cost(ranks), formula(c.size, static_cast<double>(4 * c.count)), power_of_two(c.size));
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

using ScatterSchedule = void (*)(Schedule&, Member, int, const Blocks&, const Elements&);

void check_scatter(const Case& c, ScatterSchedule algorithm, Cost (*formula)(int, double), bool in_place,
                   const Layout* layout) {
  std::vector<SimulatedRank> ranks(static_cast<std::size_t>(c.size));
  const TypeShape all_type = kShapes[static_cast<std::size_t>(c.count) % 4];
  Blocks all{.space = Space::kSend, .element = ElementType::kSendType, .type = all_type, .count = c.count};
  if (layout != nullptr) all = layout->blocks(Space::kSend, ElementType::kSendType, all_type);
  for (int rank = 0; rank < c.size; ++rank) {
    SimulatedRank& r = ranks[static_cast<std::size_t>(rank)];
    r.receive_type = c.type;
    make_room(&r.receive, &r.receive_base, all.count_of(rank), c.type);
    Elements mine{.type = c.type, .count = all.count_of(rank)};
    if (rank == c.root) {
      mine.in_place = in_place;
      r.send_type = all_type;
      make_room(&r.send, &r.send_base, layout != nullptr ? layout->elements : c.size * c.count, all_type);
      for (int to = 0; to < c.size; ++to) {
        for (Count i = 0; i < all.count_of(to); ++i)
          put(r.send, at(r.send_base + all.place_of(to).offset, all_type, i), value_of(rank, to, i));
      }
    }
    algorithm(r.schedule, {rank, c.size}, c.root, rank == c.root ? all : Blocks{}, mine);
  }
  run(ranks, c);
  for (int to = 0; to < c.size; ++to) {
    const SimulatedRank& r = ranks[static_cast<std::size_t>(to)];
    for (Count i = 0; i < all.count_of(to); ++i) {
      const std::uint32_t got = get(r.receive, at(r.receive_base, c.type, i));
      if (to == c.root && in_place) {
        ASSERT_EQ(got, 0x5a5a5a5au) << "in place, yet written";
      } else {
        ASSERT_EQ(got, value_of(c.root, to, i)) << "to " << to;
      }
    }
  }
  if (layout == nullptr)
    expect_cost(measure_cost(ranks), formula(c.size, static_cast<double>(4 * c.count)), power_of_two(c.size));
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

using AllgatherSchedule = void (*)(Schedule&, Member, const Elements&, const Blocks&);

void check_allgather(const Case& c, AllgatherSchedule algorithm, Cost (*formula)(int, double), bool in_place,
                     const Layout* layout) {
  std::vector<SimulatedRank> ranks(static_cast<std::size_t>(c.size));
  const TypeShape all_type = kShapes[static_cast<std::size_t>(c.count) % 4];
  Blocks all{.type = all_type, .count = c.count};
  if (layout != nullptr) all = layout->blocks(Space::kReceive, ElementType::kReceiveType, all_type);
  Count total = 0;
  for (int rank = 0; rank < c.size; ++rank) {
    SimulatedRank& r = ranks[static_cast<std::size_t>(rank)];
    r.send_type = c.type;
    r.receive_type = all_type;
    const Count mine_count = all.count_of(rank);
    total += mine_count;
    make_room(&r.send, &r.send_base, mine_count, c.type);
    make_room(&r.receive, &r.receive_base, layout != nullptr ? layout->elements : c.size * c.count, all_type);
    for (Count i = 0; i < mine_count; ++i) {
      put(r.send, at(r.send_base, c.type, i), value_of(rank, 0, i));
      if (in_place)
        put(r.receive, at(r.receive_base + all.place_of(rank).offset, all_type, i), value_of(rank, 0, i));
    }
    const Elements mine{.space = Space::kSend,
                        .element = ElementType::kSendType,
                        .type = c.type,
                        .count = mine_count,
                        .in_place = in_place};
    algorithm(r.schedule, {rank, c.size}, mine, all);
  }
  run(ranks, c);
  for (const SimulatedRank& r : ranks) {
    for (int from = 0; from < c.size; ++from) {
      for (Count i = 0; i < all.count_of(from); ++i) {
        ASSERT_EQ(get(r.receive, at(r.receive_base + all.place_of(from).offset, all_type, i)),
                  value_of(from, 0, i))
            << "from " << from;
      }
    }
  }
  if (layout == nullptr)
    expect_cost(measure_cost(ranks), formula(c.size, static_cast<double>(4 * total)), power_of_two(c.size));
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

enum class Alltoall { kPairwise, kPairwiseWindow, kExchange, kBruck, kBruckInPlace };

void check_alltoall(const Case& c, Alltoall algorithm) {
  const bool in_place = algorithm == Alltoall::kExchange || algorithm == Alltoall::kBruckInPlace;
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
        alltoall_exchange(r.schedule, self, in);
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
  const Cost formula = algorithm == Alltoall::kExchange ? alltoall_exchange_cost(c.size, bytes)
                       : algorithm == Alltoall::kPairwise || algorithm == Alltoall::kPairwiseWindow
                           ? alltoall_pairwise_cost(c.size, bytes)
                           : alltoall_bruck_cost(c.size, bytes);
  if (algorithm == Alltoall::kPairwiseWindow) return;
  const bool early = algorithm == Alltoall::kExchange;
  expect_cost(measure_cost(ranks), formula, power_of_two(c.size) && !early, 2.5, early);
}

TEST(MoveSchedules, Alltoall) {
  for_cases([](const Case& c) {
    if (c.root != 0 || c.count > 16) return;
    check_alltoall(c, Alltoall::kPairwise);
    check_alltoall(c, Alltoall::kPairwiseWindow);
    check_alltoall(c, Alltoall::kExchange);
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
      alltoall_exchange(r.schedule, {rank, size}, in);
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
    // After each round, whom a rank has heard of, directly or through others.
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
