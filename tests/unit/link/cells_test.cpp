// Cells: who has which, in whatever order two ranks send to each other.
#include "link/shm/cells.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <deque>
#include <random>
#include <set>
#include <vector>

namespace tasuki::shm {
namespace {

constexpr std::uint32_t kCellBytes = 64, kOneWay = 8, kAll = 2 * kOneWay, kSpare = kOneWay / 8;

/// Two ranks and their cells; what they send lies in `on_way` until the other one takes it.
struct Pair {
  std::vector<std::byte> memory = std::vector<std::byte>(std::size_t{kAll} * kCellBytes);
  std::array<Returns, 2> returns{};  // by who gives them back
  std::array<Cells, 2> cells = {
      Cells(memory.data(), {kCellBytes, kAll, 0, kOneWay, kSpare}, &returns[0], &returns[1]),
      Cells(memory.data(), {kCellBytes, kAll, kOneWay, kOneWay, kSpare}, &returns[1], &returns[0])};
  std::array<std::deque<std::uint32_t>, 2> on_way;

  bool send(int rank) {
    Cells& own = cells[rank];
    if (own.empty()) own.take_back();
    EXPECT_FALSE(own.is_damaged());
    if (own.empty()) return false;
    on_way[rank].push_back(own.send(own.at(own.next())));
    return true;
  }
  /// The cell that it takes.
  std::uint32_t take(int rank) {
    const std::uint32_t cell = on_way[1 - rank].front();
    on_way[1 - rank].pop_front();
    EXPECT_TRUE(cells[rank].may_come(cell));
    cells[rank].receive(cell, std::memory_order_release);
    return cell;
  }
};

TEST(Cells, RanksThatTakeTurnsUseTheSameOnes) {
  Pair pair;
  std::set<std::uint32_t> used;
  for (int turn = 0; turn < 100; ++turn) {
    const int sender = turn % 2;
    ASSERT_TRUE(pair.send(sender));
    used.insert(pair.take(1 - sender));
  }
  EXPECT_EQ(used.size(), 1u);
  EXPECT_EQ(pair.returns[0].count.load() + pair.returns[1].count.load(), 0u);
}

TEST(Cells, ASenderWhoseReceiverTakesAllAlwaysHasOne) {
  Pair pair;
  for (int message = 0; message < 1000; ++message) {
    ASSERT_TRUE(pair.send(0)) << message;
    pair.take(1);
    EXPECT_LE(pair.cells[1].owned(), kOneWay + kSpare);
  }
  EXPECT_GT(pair.returns[1].count.load(), 900u);
}

TEST(Cells, WhatCameBackUnseenCountsToo) {
  Pair pair;
  for (std::uint32_t i = 0; i < kOneWay; ++i) {  // rank 1 gives some back, which rank 0 need not look at
    ASSERT_TRUE(pair.send(0));
    pair.take(1);
  }
  ASSERT_GT(pair.returns[1].count.load(), 0u);
  for (int message = 0; message < 1000; ++message) {
    ASSERT_TRUE(pair.send(1)) << message << ": the peer has taken all, and keeps it";
    pair.take(0);
  }
}

TEST(Cells, EachIsInOnePlaceWhateverIsSent) {
  std::mt19937 random(3);
  Pair pair;
  for (int step = 0; step < 20000; ++step) {
    const int rank = static_cast<int>(random() % 2);
    const std::uint32_t eager = step / 500 % 4;  // phases in which one of the two takes little
    if (random() % 4 < (rank == 0 ? eager : 3 - eager)) {
      pair.send(rank);
    } else if (!pair.on_way[1 - rank].empty()) {
      pair.take(rank);
    }
    std::set<std::uint32_t> on_way;
    for (const auto& all : pair.on_way) on_way.insert(all.begin(), all.end());
    ASSERT_EQ(on_way.size(), pair.on_way[0].size() + pair.on_way[1].size()) << "one is sent twice";
    for (const std::uint32_t cell : on_way)
      ASSERT_TRUE(pair.cells[0].may_come(cell) && pair.cells[1].may_come(cell)) << cell;
    ASSERT_LE(pair.cells[0].owned() + pair.cells[1].owned() + on_way.size(), kAll);
  }
}

TEST(Cells, OneThatIsWrittenLeavesThoughOthersCome) {
  Pair pair;
  ASSERT_TRUE(pair.send(1));
  std::byte* const written = pair.cells[0].at(pair.cells[0].next());
  const std::uint32_t came = pair.take(0);
  const std::uint32_t sent = pair.cells[0].send(written);
  EXPECT_NE(sent, came);
  EXPECT_EQ(pair.cells[0].next(), came);
  EXPECT_TRUE(pair.cells[0].may_come(sent));
}

TEST(Cells, TheLayoutFollowsTheBytes) {
  for (std::uint64_t bytes = 4096; bytes <= std::uint64_t{64} << 20; bytes *= 2) {
    const CellLayout layout = CellLayout::of(bytes);
    EXPECT_EQ(std::uint64_t{layout.cell_bytes} * layout.cells, bytes);
    EXPECT_LE(2 * layout.cells, kCellsMax);
  }
}

}  // namespace
}  // namespace tasuki::shm
