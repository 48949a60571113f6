// What the tests of the schedules that move data share: datatypes, buffers, cases, and for each operation a
// check of an algorithm that is called like the one in coll/algorithm/algorithms.hpp, with its formula.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "coll/simulation.hpp"

namespace tasuki::test {

inline constexpr int kSizeMax = 17;
inline constexpr TypeShape kDense{.size = 4, .extent = 4, .true_lb = 0, .true_extent = 4, .contiguous = true};
inline constexpr TypeShape kGaps{
    .size = 4, .extent = 12, .true_lb = 0, .true_extent = 4, .contiguous = false};
inline constexpr TypeShape kShifted{
    .size = 4, .extent = 8, .true_lb = 4, .true_extent = 4, .contiguous = false};
inline constexpr TypeShape kBackwards{
    .size = 4, .extent = -8, .true_lb = -4, .true_extent = 4, .contiguous = false};
inline const TypeShape kShapes[] = {kDense, kGaps, kShifted, kBackwards};

inline constexpr std::uint8_t kUntouched = 0x5a;

/// The value of element `index` of what `from` sends to `to`.
inline std::uint32_t value_of(int from, int to, Count index) {
  return static_cast<std::uint32_t>(((from + 1) * 131 + to) * 1009 + index);
}

/// A buffer whose address 0 has room on both sides, for `count` elements of `type`.
inline void make_room(Bytes* buffer, Count* base, Count count, const TypeShape& type) {
  const Count room = (count + 2) * std::abs(type.extent) + 64;
  buffer->assign(static_cast<std::size_t>(2 * room), kUntouched);
  *base = room;
}

inline void put(Bytes& buffer, Count at, std::uint32_t value) {
  std::memcpy(buffer.data() + at, &value, sizeof value);
}

inline std::uint32_t get(const Bytes& buffer, Count at) {
  std::uint32_t value;
  std::memcpy(&value, buffer.data() + at, sizeof value);
  return value;
}

/// Byte offset of an element's data: `first` elements into the buffer and `index` more.
inline Count at(Count base, const TypeShape& type, Count element) {
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
  for (int size = 1; size <= kSimulatedRanksMax; size = size < kSizeMax ? size + 1
                                                        : size < 32     ? 32
                                                                        : 2 * size) {
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

inline bool power_of_two(int size) {
  return (size & (size - 1)) == 0;
}

inline void run(std::vector<SimulatedRank>& ranks, const Case& c, unsigned seed = 1) {
  Simulation(ranks, nullptr, seed + static_cast<unsigned>(c.size * 100 + c.root)).run();
}

template <class Algorithm>
std::vector<SimulatedRank> run_bcast(const Case& c, Algorithm&& algorithm) {
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
      EXPECT_EQ(get(r.receive, at(r.receive_base, r.receive_type, i)), value_of(c.root, 0, i));
  }
  return ranks;
}

/// The schedules cost what the formula says of so many elements.
template <class Formula>
void check_cost(const Case& c, const std::vector<SimulatedRank>& ranks, Formula&& formula, Count elements) {
  expect_cost(measure_cost(ranks), formula(c.size, static_cast<double>(4 * elements)), power_of_two(c.size));
}

template <class Algorithm, class Formula>
void check_bcast(const Case& c, Algorithm&& algorithm, Formula&& formula, bool any_count) {
  const auto ranks = run_bcast(c, algorithm);
  if (any_count || 4 * c.count % c.size == 0) check_cost(c, ranks, formula, c.count);
}

template <class Algorithm>
std::vector<SimulatedRank> run_gather(const Case& c, Algorithm&& algorithm, bool in_place,
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
      EXPECT_EQ(get(root.receive, at(root.receive_base + all.place_of(from).offset, all_type, i)),
                value_of(from, c.root, i))
          << "from " << from;
    }
  }
  return ranks;
}

template <class Algorithm, class Formula>
void check_gather(const Case& c, Algorithm&& algorithm, Formula&& formula, bool in_place,
                  const Layout* layout) {
  const auto ranks = run_gather(c, algorithm, in_place, layout);
  if (layout == nullptr) check_cost(c, ranks, formula, c.count);
}

template <class Algorithm>
std::vector<SimulatedRank> run_scatter(const Case& c, Algorithm&& algorithm, bool in_place,
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
        EXPECT_EQ(got, 0x5a5a5a5au) << "in place, yet written";
      } else {
        EXPECT_EQ(got, value_of(c.root, to, i)) << "to " << to;
      }
    }
  }
  return ranks;
}

template <class Algorithm, class Formula>
void check_scatter(const Case& c, Algorithm&& algorithm, Formula&& formula, bool in_place,
                   const Layout* layout) {
  const auto ranks = run_scatter(c, algorithm, in_place, layout);
  if (layout == nullptr) check_cost(c, ranks, formula, c.count);
}

template <class Algorithm>
std::vector<SimulatedRank> run_allgather(const Case& c, Algorithm&& algorithm, bool in_place,
                                         const Layout* layout) {
  std::vector<SimulatedRank> ranks(static_cast<std::size_t>(c.size));
  const TypeShape all_type = kShapes[static_cast<std::size_t>(c.count) % 4];
  Blocks all{.type = all_type, .count = c.count};
  if (layout != nullptr) all = layout->blocks(Space::kReceive, ElementType::kReceiveType, all_type);
  for (int rank = 0; rank < c.size; ++rank) {
    SimulatedRank& r = ranks[static_cast<std::size_t>(rank)];
    r.send_type = c.type;
    r.receive_type = all_type;
    const Count mine_count = all.count_of(rank);
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
        EXPECT_EQ(get(r.receive, at(r.receive_base + all.place_of(from).offset, all_type, i)),
                  value_of(from, 0, i))
            << "from " << from;
      }
    }
  }
  return ranks;
}

template <class Algorithm, class Formula>
void check_allgather(const Case& c, Algorithm&& algorithm, Formula&& formula, bool in_place,
                     const Layout* layout) {
  const auto ranks = run_allgather(c, algorithm, in_place, layout);
  if (layout == nullptr) check_cost(c, ranks, formula, c.size * c.count);
}

}  // namespace tasuki::test
