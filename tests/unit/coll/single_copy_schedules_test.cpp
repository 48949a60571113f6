// The schedules for ranks that share memory, on a simulated machine that node segments exposed buffers at
// random and finds every race (single_copy_simulation.hpp): each rank gets what it should, nothing else is
// written, and the busiest rank moves and reduces as many bytes as the formula says.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "coll/reduction_cases.hpp"
#include "coll/shm/single_copy.hpp"
#include "coll/single_copy_simulation.hpp"

namespace tasuki::test {
namespace {

// Elements are spans of ranks; only neighbouring ones of the same index join, in their order.
using reductions::join;
using reductions::kDense;
using reductions::kShapes;
using reductions::Span;

const int kSizes[] = {2, 3, 4, 5, 8, 9, 16};

/// Ranks with two buffers each, all 0x5a but for what a test sets. Elements have eight bytes.
struct World {
  std::vector<SimulatedRank> ranks;
  int size;
  unsigned seed;
  Count base;

  World(int ranks_in_all, Count elements, unsigned with_seed)
      : ranks(static_cast<std::size_t>(ranks_in_all)),
        size(ranks_in_all),
        seed(with_seed),
        base((elements + 2) * 20 + 64) {
    for (int rank = 0; rank < size; ++rank) {
      SimulatedRank& r = ranks[static_cast<std::size_t>(rank)];
      r.send.assign(static_cast<std::size_t>(2 * base), 0x5a);
      r.receive = r.send;
      r.send_base = r.receive_base = base;
      r.send_type = r.receive_type = kDense;
    }
  }

  SimulatedRank& at(int rank) { return ranks[static_cast<std::size_t>(rank)]; }
  std::uint8_t* element(int rank, Space space, Count number) {
    SimulatedRank& r = at(rank);
    const TypeShape& type = space == Space::kSend ? r.send_type : r.receive_type;
    return (space == Space::kSend ? r.send : r.receive).data() + base + number * type.extent + type.true_lb;
  }
  void set(int rank, Space space, Count number, const Span& span) {
    std::memcpy(element(rank, space, number), &span, sizeof span);
  }
  Span get(int rank, Space space, Count number) {
    Span span;
    std::memcpy(&span, element(rank, space, number), sizeof span);
    return span;
  }

  /// Runs, checks what it cost, and that nothing was written but `results` elements of each receive buffer.
  void run(const SingleCopyCost& cost, bool exact) {
    std::vector<Bytes> sent;
    for (const SimulatedRank& rank : ranks) sent.push_back(rank.send);
    SingleCopySimulation simulation(ranks, join, seed);
    simulation.run();
    if (testing::Test::HasFailure()) return;
    for (int rank = 0; rank < size; ++rank)
      ASSERT_EQ(sent[static_cast<std::size_t>(rank)], at(rank).send)
          << "rank " << rank << " wrote what it sends";
    const auto check = [&](const char* what, double is, double says) {
      if (exact) {
        EXPECT_NEAR(is, says, 1e-6 * says + 1e-6) << what;
      } else {
        // A slice begins at a multiple of eight elements.
        EXPECT_LE(is, says + 8.0 * 8 * size * size) << what;
      }
    };
    check("moved", simulation.moved_bytes_max(), cost.moved_bytes);
    check("reduced", simulation.reduced_bytes_max(), cost.reduced_bytes);
    check("total", simulation.total_bytes(), cost.total_bytes);
  }
};

struct ReductionCase {
  int size;
  Count count;
  bool in_place;
  TypeShape type;
  unsigned seed;
};

template <class Body>
void for_reductions(Body&& body) {
  unsigned seed = 1;
  for (int size : kSizes) {
    if (size > kSimulatedRanksMax) break;
    for (Count count : {Count{0}, Count{1}, Count{13}, Count{8} * size, Count{1100}}) {
      if (count == 1100 && size > 3) continue;
      for (bool in_place : {false, true}) {
        for (int repeat = 0; repeat < 2; ++repeat, ++seed) {
          const ReductionCase one{size, count, in_place, kShapes[seed % 3], seed};
          SCOPED_TRACE(testing::Message() << size << " ranks, count " << count
                                          << (in_place ? ", in place" : "") << ", seed " << seed);
          body(one);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

World make_inputs(const ReductionCase& one, int in_place_at = -1) {
  World world(one.size, one.count, one.seed);
  for (int rank = 0; rank < one.size; ++rank) {
    world.at(rank).send_type = world.at(rank).receive_type = one.type;
    const bool here = one.in_place && (in_place_at < 0 || rank == in_place_at);
    for (Count i = 0; i < one.count; ++i)
      world.set(rank, here ? Space::kReceive : Space::kSend, i,
                {static_cast<std::uint16_t>(rank), static_cast<std::uint16_t>(rank + 1),
                 static_cast<std::uint32_t>(i)});
  }
  return world;
}

Reduction reduction(const ReductionCase& one, bool in_place) {
  return {.count = one.count, .type = one.type, .in_place = in_place, .commutative = false};
}

void expect_span(World& world, int rank, Count at, Count index, int first, int end) {
  const Span span = world.get(rank, Space::kReceive, at);
  ASSERT_EQ(span.index, index) << "rank " << rank;
  ASSERT_EQ(span.begin, first) << "rank " << rank << " element " << index;
  ASSERT_EQ(span.end, end) << "rank " << rank << " element " << index;
}

bool even(const ReductionCase& one) {
  return one.count % (8 * one.size) == 0;
}
double bytes(const ReductionCase& one) {
  return static_cast<double>(one.count * 8);
}

template <class Algorithm, class Formula>
void check_reduce(Algorithm algorithm, Formula formula) {
  for_reductions([&](const ReductionCase& one) {
    const int root = static_cast<int>(one.seed) % one.size;
    World world = make_inputs(one, root);
    for (int rank = 0; rank < one.size; ++rank)
      algorithm(world.at(rank).schedule, Member{rank, one.size}, root,
                reduction(one, one.in_place && rank == root));
    world.run(formula(one.size, bytes(one)), even(one));
    for (Count i = 0; i < one.count; ++i)
      ASSERT_NO_FATAL_FAILURE(expect_span(world, root, i, i, 0, one.size));
  });
}

TEST(SingleCopyReductions, ReduceGivesTheRootAllInOrder) {
  check_reduce(single_copy_reduce, single_copy_reduce_cost);
}

TEST(SingleCopyReductions, ReduceOfCopiesGivesTheRootAllInOrder) {
  check_reduce(single_copy_reduce_copy, single_copy_reduce_copy_cost);
}

TEST(SingleCopyReductions, AllreduceGivesEverybodyAllInOrder) {
  for_reductions([](const ReductionCase& one) {
    World world = make_inputs(one);
    for (int rank = 0; rank < one.size; ++rank)
      single_copy_allreduce(world.at(rank).schedule, {rank, one.size}, reduction(one, one.in_place));
    world.run(single_copy_allreduce_cost(one.size, bytes(one)), even(one));
    for (int rank = 0; rank < one.size; ++rank)
      for (Count i = 0; i < one.count; ++i)
        ASSERT_NO_FATAL_FAILURE(expect_span(world, rank, i, i, 0, one.size));
  });
}

TEST(SingleCopyReductions, ReduceScatterGivesEachItsPart) {
  for_reductions([](const ReductionCase& one) {
    World world = make_inputs(one);
    // Parts of different lengths, or equal ones.
    std::vector<std::int64_t> counts;
    Count left = one.count;
    for (int rank = 0; rank < one.size; ++rank) {
      const Count part = even(one)              ? one.count / one.size
                         : rank == one.size - 1 ? left
                                                : std::min<Count>(left, (rank + one.seed) % 4);
      counts.push_back(part);
      left -= part;
    }
    const Blocks parts{.type = one.type, .counts = CountArray(counts.data())};
    for (int rank = 0; rank < one.size; ++rank)
      single_copy_reduce_scatter(world.at(rank).schedule, {rank, one.size}, reduction(one, one.in_place),
                                 parts);
    if (even(one) && !one.in_place) {
      world.run(single_copy_reduce_scatter_cost(one.size, bytes(one)), true);
    } else {
      world.run({.moved_bytes = bytes(one),
                 .reduced_bytes = one.size * bytes(one),
                 .total_bytes = one.size * bytes(one)},
                false);
    }
    Count first = 0;
    for (int rank = 0; rank < one.size; ++rank) {
      for (Count i = 0; i < counts[static_cast<std::size_t>(rank)]; ++i)
        ASSERT_NO_FATAL_FAILURE(expect_span(world, rank, i, first + i, 0, one.size));
      first += counts[static_cast<std::size_t>(rank)];
    }
  });
}

TEST(SingleCopyReductions, ScanGivesEachTheSumUpToIt) {
  for_reductions([](const ReductionCase& one) {
    World world = make_inputs(one);
    for (int rank = 0; rank < one.size; ++rank)
      single_copy_scan(world.at(rank).schedule, {rank, one.size}, reduction(one, one.in_place));
    world.run(single_copy_scan_cost(one.size, bytes(one)), even(one));
    for (int rank = 0; rank < one.size; ++rank)
      for (Count i = 0; i < one.count; ++i)
        ASSERT_NO_FATAL_FAILURE(expect_span(world, rank, i, i, 0, rank + 1));
  });
}

TEST(SingleCopyReductions, ExscanGivesEachTheSumBeforeIt) {
  for_reductions([](const ReductionCase& one) {
    World world = make_inputs(one);
    const Bytes of_rank_0 = world.at(0).receive;
    for (int rank = 0; rank < one.size; ++rank)
      single_copy_exscan(world.at(rank).schedule, {rank, one.size}, reduction(one, one.in_place));
    world.run(single_copy_exscan_cost(one.size, bytes(one)), even(one));
    ASSERT_EQ(of_rank_0, world.at(0).receive);
    for (int rank = 1; rank < one.size; ++rank)
      for (Count i = 0; i < one.count; ++i) ASSERT_NO_FATAL_FAILURE(expect_span(world, rank, i, i, 0, rank));
  });
}

// Moving: an element says from which rank to which it goes, and which of the block it is.

Span parcel(int from, int to, Count number) {
  return {static_cast<std::uint16_t>(from), static_cast<std::uint16_t>(to),
          static_cast<std::uint32_t>(number)};
}

void expect_parcel(World& world, int rank, Count at, int from, int to, Count number) {
  const Span got = world.get(rank, Space::kReceive, at);
  ASSERT_EQ(got.begin, from) << "rank " << rank << " element " << at;
  ASSERT_EQ(got.end, to) << "rank " << rank << " element " << at;
  ASSERT_EQ(got.index, number) << "rank " << rank << " element " << at;
}

template <class Body>
void for_moves(Body&& body) {
  unsigned seed = 1;
  for (int size : kSizes) {
    if (size > kSimulatedRanksMax) break;
    for (Count count : {Count{0}, Count{1}, Count{7}, Count{20}}) {
      for (bool in_place : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << size << " ranks, count " << count << (in_place ? ", in place" : ""));
        for (int repeat = 0; repeat < 2; ++repeat) body(size, count, in_place, seed++);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

template <class Algorithm, class Formula>
void check_bcast(Algorithm algorithm, Formula formula) {
  for_moves([&](int size, Count count, bool, unsigned seed) {
    const int root = static_cast<int>(seed) % size;
    World world(size, count, seed);
    for (int rank = 0; rank < size; ++rank) {
      const TypeShape type = kShapes[(seed + static_cast<unsigned>(rank)) % 3];
      world.at(rank).receive_type = type;
      algorithm(world.at(rank).schedule, Member{rank, size}, root, Elements{.type = type, .count = count});
    }
    for (Count i = 0; i < count; ++i) world.set(root, Space::kReceive, i, parcel(root, 0, i));
    world.run(formula(size, static_cast<double>(8 * count)), true);
    for (int rank = 0; rank < size; ++rank)
      for (Count i = 0; i < count; ++i) ASSERT_NO_FATAL_FAILURE(expect_parcel(world, rank, i, root, 0, i));
  });
}

TEST(SingleCopyMoves, BcastByPullingReachesAll) {
  check_bcast(single_copy_bcast, single_copy_bcast_cost);
}

TEST(SingleCopyMoves, BcastWithARootThatHelpsReachesAll) {
  check_bcast(single_copy_bcast_split, single_copy_bcast_split_cost);
}

TEST(SingleCopyMoves, BcastOfACopyReachesAll) {
  check_bcast(single_copy_bcast_copy, single_copy_bcast_copy_cost);
}

/// Blocks of different lengths, at displacements that leave gaps and are not in order.
struct Lengths {
  std::vector<std::int64_t> counts, displacements;
  Lengths(int size, Count count, bool equal) {
    for (int rank = 0; rank < size; ++rank)
      counts.push_back(equal ? count : (count * (rank + 1)) % (count + 2));
    displacements.resize(static_cast<std::size_t>(size));
    Count at = 0;
    for (int rank = size - 1; rank >= 0; --rank) {
      displacements[static_cast<std::size_t>(rank)] = at;
      at += counts[static_cast<std::size_t>(rank)] + rank % 2;
    }
  }
  Count count(int rank) const { return counts[static_cast<std::size_t>(rank)]; }
  Count at(int rank) const { return displacements[static_cast<std::size_t>(rank)]; }
  Blocks blocks(Space space, const TypeShape& type) const {
    return {.space = space,
            .element = space == Space::kSend ? ElementType::kSendType : ElementType::kReceiveType,
            .type = type,
            .counts = CountArray(counts.data()),
            .displacements = CountArray(displacements.data()),
            .displacement_bytes = type.extent};
  }
};

template <class Algorithm, class Formula>
void check_gather(Algorithm algorithm, Formula formula) {
  for_moves([&](int size, Count count, bool in_place, unsigned seed) {
    const int root = static_cast<int>(seed) % size;
    const bool equal = seed % 2 == 0;
    const Lengths lengths(size, count, equal);
    World world(size, size * (count + 2), seed);
    world.at(root).receive_type = kShapes[seed % 3];
    for (int rank = 0; rank < size; ++rank) {
      const TypeShape type = kShapes[(seed + static_cast<unsigned>(rank)) % 3];
      world.at(rank).send_type = type;
      const bool here = in_place && rank == root;
      const Elements mine{.space = Space::kSend,
                          .element = ElementType::kSendType,
                          .type = type,
                          .count = here ? 0 : lengths.count(rank),
                          .in_place = here};
      for (Count i = 0; i < lengths.count(rank); ++i)
        world.set(rank, here ? Space::kReceive : Space::kSend, here ? lengths.at(rank) + i : i,
                  parcel(rank, root, i));
      algorithm(world.at(rank).schedule, Member{rank, size}, root, mine,
                lengths.blocks(Space::kReceive, world.at(root).receive_type));
    }
    world.run(formula(size, static_cast<double>(8 * count)), equal && !in_place);
    for (int rank = 0; rank < size; ++rank)
      for (Count i = 0; i < lengths.count(rank); ++i)
        ASSERT_NO_FATAL_FAILURE(expect_parcel(world, root, lengths.at(rank) + i, rank, root, i));
  });
}

TEST(SingleCopyMoves, GatherBringsAllBlocksToTheRoot) {
  check_gather(single_copy_gather, single_copy_gather_cost);
}

TEST(SingleCopyMoves, GatherOfCopiesBringsAllBlocksToTheRoot) {
  check_gather(single_copy_gather_copy, single_copy_gather_copy_cost);
}

template <class Algorithm, class Formula>
void check_scatter(Algorithm algorithm, Formula formula) {
  for_moves([&](int size, Count count, bool in_place, unsigned seed) {
    const int root = static_cast<int>(seed) % size;
    const bool equal = seed % 2 == 0;
    const Lengths lengths(size, count, equal);
    World world(size, size * (count + 2), seed);
    world.at(root).send_type = kShapes[seed % 3];
    for (int rank = 0; rank < size; ++rank) {
      const TypeShape type = kShapes[(seed + static_cast<unsigned>(rank)) % 3];
      world.at(rank).receive_type = type;
      const bool here = in_place && rank == root;
      const Elements mine{.type = type, .count = here ? 0 : lengths.count(rank), .in_place = here};
      for (Count i = 0; i < lengths.count(rank); ++i)
        world.set(root, Space::kSend, lengths.at(rank) + i, parcel(root, rank, i));
      algorithm(world.at(rank).schedule, Member{rank, size}, root,
                lengths.blocks(Space::kSend, world.at(root).send_type), mine);
    }
    world.run(formula(size, static_cast<double>(8 * count)), equal && !in_place);
    for (int rank = 0; rank < size; ++rank)
      for (Count i = 0; i < lengths.count(rank) && !(in_place && rank == root); ++i)
        ASSERT_NO_FATAL_FAILURE(expect_parcel(world, rank, i, root, rank, i));
  });
}

TEST(SingleCopyMoves, ScatterBringsEachItsBlock) {
  check_scatter(single_copy_scatter, single_copy_scatter_cost);
}

TEST(SingleCopyMoves, ScatterOfACopyBringsEachItsBlock) {
  check_scatter(single_copy_scatter_copy, single_copy_scatter_copy_cost);
}

TEST(SingleCopyMoves, AllgatherBringsAllBlocksToAll) {
  for_moves([](int size, Count count, bool in_place, unsigned seed) {
    const bool equal = seed % 2 == 0;
    const Lengths lengths(size, count, equal);
    World world(size, size * (count + 2), seed);
    for (int rank = 0; rank < size; ++rank) {
      const TypeShape in = kShapes[(seed + static_cast<unsigned>(rank)) % 3];
      const TypeShape out = kShapes[(seed + 2 * static_cast<unsigned>(rank)) % 3];
      world.at(rank).receive_type = in;
      world.at(rank).send_type = out;
      const Elements mine{.space = Space::kSend,
                          .element = ElementType::kSendType,
                          .type = out,
                          .count = in_place ? 0 : lengths.count(rank),
                          .in_place = in_place};
      for (Count i = 0; i < lengths.count(rank); ++i)
        world.set(rank, in_place ? Space::kReceive : Space::kSend, in_place ? lengths.at(rank) + i : i,
                  parcel(rank, 0, i));
      single_copy_allgather(world.at(rank).schedule, {rank, size}, mine, lengths.blocks(Space::kReceive, in));
    }
    world.run(single_copy_allgather_cost(size, static_cast<double>(8 * count * size)), equal && !in_place);
    for (int rank = 0; rank < size; ++rank)
      for (int from = 0; from < size; ++from)
        for (Count i = 0; i < lengths.count(from); ++i)
          ASSERT_NO_FATAL_FAILURE(expect_parcel(world, rank, lengths.at(from) + i, from, 0, i));
  });
}

TEST(SingleCopyMoves, AlltoallBringsEachItsBlocks) {
  for_moves([](int size, Count count, bool in_place, unsigned seed) {
    // Rank i sends as many elements to rank j as j to i, so that it works in place.
    const auto count_of = [&](int from, int to) {
      return seed % 2 == 0 ? count : (count * (from + to + 1)) % (count + 1);
    };
    World world(size, size * (count + 2), seed);
    std::vector<Lengths> lengths;
    for (int rank = 0; rank < size; ++rank) {
      lengths.emplace_back(size, count, true);
      Lengths& own = lengths.back();
      for (int peer = 0; peer < size; ++peer)
        own.counts[static_cast<std::size_t>(peer)] = count_of(rank, peer);
    }
    for (int rank = 0; rank < size; ++rank) {
      const Lengths& own = lengths[static_cast<std::size_t>(rank)];
      const TypeShape in_type = kShapes[(seed + static_cast<unsigned>(rank)) % 3];
      const TypeShape out_type = kShapes[(seed + 2 * static_cast<unsigned>(rank)) % 3];
      world.at(rank).receive_type = in_type;
      world.at(rank).send_type = out_type;
      const Blocks in = own.blocks(Space::kReceive, in_type);
      Blocks out = in_place ? in : own.blocks(Space::kSend, out_type);
      out.in_place = in_place;
      for (int peer = 0; peer < size; ++peer)
        for (Count i = 0; i < own.count(peer); ++i)
          world.set(rank, in_place ? Space::kReceive : Space::kSend, own.at(peer) + i, parcel(rank, peer, i));
      single_copy_alltoall(world.at(rank).schedule, {rank, size}, out, in);
    }
    world.run(single_copy_alltoall_cost(size, static_cast<double>(8 * count), in_place),
              seed % 2 == 0 && !in_place);
    for (int rank = 0; rank < size; ++rank)
      for (int from = 0; from < size; ++from)
        for (Count i = 0; i < count_of(from, rank); ++i)
          ASSERT_NO_FATAL_FAILURE(expect_parcel(
              world, rank, lengths[static_cast<std::size_t>(rank)].at(from) + i, from, rank, i));
  });
}

// The simulation itself: a schedule with a wait too few is found.

/// Rank 0 lets rank 1 read its send buffer, and rank 1 moves it to its own.
int failures_of_a_pull(bool waits_for_the_offer, bool owner_waits) {
  testing::TestPartResultArray failures;
  const testing::ScopedFakeTestPartResultReporter reporter(
      testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
  World world(2, 4, 1);
  Schedule& owner = world.at(0).schedule;
  owner.exposed = {{.place = {Space::kReceive, 0}, .count = 4, .type = ElementType::kReceiveType}};
  owner.exposed[0].use = ExposedBuffer::Use::kWritten;
  owner.offer();
  if (owner_waits) owner.await(1, 2);
  owner.end_round();
  owner.move({Space::kInput, 0, 0}, {Space::kInput, 16, 0}, 16);
  owner.end_round();
  Schedule& reader = world.at(1).schedule;
  reader.exposed = {{}, {.place = {Space::kReceive, 0}, .count = 4, .type = ElementType::kReceiveType}};
  if (waits_for_the_offer) reader.await(0, 1);
  reader.end_round();
  reader.move({Space::kInput, 0, 0}, {Space::kOutput, 0, 1}, 32);
  reader.signal(2);
  reader.end_round();
  SingleCopySimulation(world.ranks, join, 3).run();
  return failures.size();
}

TEST(SingleCopySimulationItself, FindsAMissingWait) {
  EXPECT_EQ(failures_of_a_pull(true, true), 0);
  EXPECT_GT(failures_of_a_pull(false, true), 0);
  EXPECT_GT(failures_of_a_pull(true, false), 0);
}

}  // namespace
}  // namespace tasuki::test
