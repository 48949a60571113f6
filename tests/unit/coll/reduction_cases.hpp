// What the tests of the schedules that reduce share: the operation, the vectors of all ranks, and the cases.
//
// The operation joins spans of ranks, and only neighbouring ones: [a, b) op [b, c) = [a, c); anything else
// gives a broken span. For the algorithms that are for commutative operations it adds sets of ranks (as bits)
// and breaks where a rank is in both.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "coll/simulation.hpp"

namespace tasuki::test::reductions {

struct Span {
  std::uint16_t begin;
  std::uint16_t end;
  std::uint32_t index;  // of the element: spans of different elements do not join
};
inline constexpr std::uint32_t kBroken = 0xdeadbeef;

inline void join(const std::uint8_t* in, std::uint8_t* inout) {
  Span left, right;
  std::memcpy(&left, in, sizeof left);
  std::memcpy(&right, inout, sizeof right);
  const bool fits = left.end == right.begin && left.index == right.index && left.begin < left.end;
  const Span joined{left.begin, right.end, fits ? left.index : kBroken};
  std::memcpy(inout, &joined, sizeof joined);
}

inline void add_sets(const std::uint8_t* in, std::uint8_t* inout) {
  std::uint64_t left, right;
  std::memcpy(&left, in, sizeof left);
  std::memcpy(&right, inout, sizeof right);
  const std::uint64_t sum = (left & right) == 0 ? left | right : 0;
  std::memcpy(inout, &sum, sizeof sum);
}

inline constexpr TypeShape kDense{.size = 8, .extent = 8, .true_lb = 0, .true_extent = 8, .contiguous = true};
inline constexpr TypeShape kGaps{
    .size = 8, .extent = 20, .true_lb = 8, .true_extent = 8, .contiguous = false};
inline constexpr TypeShape kBackwards{
    .size = 8, .extent = -16, .true_lb = -8, .true_extent = 8, .contiguous = false};
inline const TypeShape kShapes[] = {kDense, kGaps, kBackwards};

/// A reduction of `count` elements that all ranks take part in.
struct World {
  std::vector<SimulatedRank> ranks;
  Reduction data;
  int size;

  World(int ranks_in_all, Count count, bool commutative, bool in_place, int in_place_at = -1)
      : ranks(static_cast<std::size_t>(ranks_in_all)), size(ranks_in_all) {
    data = {.count = count,
            .type = kShapes[static_cast<std::size_t>(size + count) % 3],
            .in_place = in_place,
            .commutative = commutative};
    const Count room = (count + 2) * std::abs(data.type.extent) + 64;
    for (int rank = 0; rank < size; ++rank) {
      SimulatedRank& r = ranks[static_cast<std::size_t>(rank)];
      r.send_type = r.receive_type = data.type;
      r.send_base = r.receive_base = room;
      r.send.assign(static_cast<std::size_t>(2 * room), 0x5a);
      r.receive = r.send;
      const bool here = in_place && (in_place_at < 0 || rank == in_place_at);
      for (Count i = 0; i < count; ++i) set(here ? r.receive : r.send, room, i, rank);
    }
  }

  void set(Bytes& buffer, Count base, Count i, int rank) const {
    const Span span{static_cast<std::uint16_t>(rank), static_cast<std::uint16_t>(rank + 1),
                    static_cast<std::uint32_t>(i)};
    const std::uint64_t bit = std::uint64_t{1} << rank;
    std::uint8_t* at = buffer.data() + base + i * data.type.extent + data.type.true_lb;
    if (data.commutative) {
      std::memcpy(at, &bit, sizeof bit);
    } else {
      std::memcpy(at, &span, sizeof span);
    }
  }

  void run() { Simulation(ranks, data.commutative ? add_sets : join, static_cast<unsigned>(size)).run(); }

  /// The result of `rank`, at its element `at`, must be element `i` over the ranks [first, end).
  void expect(int rank, Count at, Count i, int first, int end) const {
    const SimulatedRank& r = ranks[static_cast<std::size_t>(rank)];
    const std::uint8_t* got = r.receive.data() + r.receive_base + at * data.type.extent + data.type.true_lb;
    if (data.commutative) {
      std::uint64_t set_got;
      std::memcpy(&set_got, got, sizeof set_got);
      const std::uint64_t below_end = end == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end) - 1;
      ASSERT_EQ(set_got, below_end & ~((std::uint64_t{1} << first) - 1))
          << "rank " << rank << " element " << i;
    } else {
      Span span;
      std::memcpy(&span, got, sizeof span);
      ASSERT_EQ(span.index, i) << "rank " << rank;
      ASSERT_EQ(span.begin, first) << "rank " << rank << " element " << i;
      ASSERT_EQ(span.end, end) << "rank " << rank << " element " << i;
    }
  }

  double bytes() const { return static_cast<double>(data.count * data.type.size); }
  bool power_of_two() const { return (size & (size - 1)) == 0; }
  /// Whether the vector can be cut into equal parts.
  bool even() const { return data.count % size == 0; }
  bool even_for_workers() const { return data.count % floor_pow2(size) == 0; }
};

template <class Body>
void for_cases(Body&& body) {
  for (int size = 1; size <= kSimulatedRanksMax; size = size < 17 ? size + 1 : size < 32 ? 32 : 2 * size) {
    for (Count count : {Count{0}, Count{1}, Count{3}, Count{64}, Count{131}, Count{2} * size}) {
      if (size > 17 && count > 64) continue;
      for (bool in_place : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << size << " ranks, count " << count << (in_place ? ", in place" : ""));
        body(size, count, in_place);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

/// Calls `algorithm(schedule, self, root, data)` for some roots, in place there or not, and then
/// `check_cost(world, root)`.
template <class Algorithm, class CheckCost>
void check_reduce(int size, Count count, bool in_place, bool commutative, Algorithm&& algorithm,
                  CheckCost&& check_cost) {
  for (int root : {0, size / 2, size - 1}) {
    SCOPED_TRACE(testing::Message() << "root " << root << (commutative ? ", commutative" : ""));
    World world(size, count, commutative, in_place, root);
    for (int rank = 0; rank < size; ++rank) {
      SimulatedRank& r = world.ranks[static_cast<std::size_t>(rank)];
      Reduction data = world.data;
      data.in_place = in_place && rank == root;
      if (rank != root) r.receive.clear();  // not significant there
      algorithm(r.schedule, Member{rank, size}, root, data);
    }
    world.run();
    for (Count i = 0; i < count; ++i) world.expect(root, i, i, 0, size);
    check_cost(world, root);
  }
}

template <class Algorithm>
void check_allreduce(World& world, Algorithm&& algorithm) {
  for (int rank = 0; rank < world.size; ++rank)
    algorithm(world.ranks[static_cast<std::size_t>(rank)].schedule, Member{rank, world.size}, world.data);
  world.run();
  for (int rank = 0; rank < world.size; ++rank) {
    for (Count i = 0; i < world.data.count; ++i) world.expect(rank, i, i, 0, world.size);
  }
}

}  // namespace tasuki::test::reductions
