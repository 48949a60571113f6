// The worlds of a job: their numbers, and what is asked of all of them.
#include "launch/world/worlds.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "made_world.hpp"

namespace tasuki::launch {
namespace {

TEST(Worlds, TheCommandLinesIsNumberZero) {
  Worlds worlds;
  EXPECT_EQ(worlds.next_number(false), 0);
  worlds.add(made_world(2, 0));
  EXPECT_EQ(worlds.next_number(true), 1);
  EXPECT_FALSE(worlds.first().spawned());
  EXPECT_EQ(worlds.first().rank_name(1), "1");
}

TEST(Worlds, NumbersOfSpawnsAreNeverGivenTwice) {
  Worlds worlds;
  EXPECT_EQ(worlds.next_number(true), 1);  // without a command line, too
  World& first = worlds.add(made_world(1, 1));
  EXPECT_EQ(worlds.next_number(true), 2);
  worlds.remove(first);
  EXPECT_EQ(worlds.count(), 0u);
  EXPECT_EQ(worlds.next_number(true), 2);
  EXPECT_EQ(worlds.add(made_world(1, 2)).rank_name(0), "2.0");
}

TEST(Worlds, CountTheRanksThatRun) {
  Worlds worlds;
  World& one = worlds.add(made_world(2, 0));
  World& other = worlds.add(made_world(1, 1));
  EXPECT_EQ(worlds.running(), 0);  // none is a process yet
  for (World* world : {&one, &other}) {
    for (Rank& rank : world->ranks) rank.pid = 12345;
  }
  EXPECT_EQ(worlds.running(), 3);
  EXPECT_FALSE(other.over());
  other.ranks[0].ended = true;
  EXPECT_EQ(worlds.running(), 2);
  EXPECT_TRUE(other.over());
  std::vector<int> numbers;
  worlds.for_each_rank([&numbers](WorldRank rank) { numbers.push_back(rank.number); });
  EXPECT_EQ(numbers, (std::vector<int>{0, 1, 0}));
}

TEST(Worlds, KnowWhetherARankHasJoined) {
  Worlds worlds;
  World& world = worlds.add(made_world(2));
  EXPECT_FALSE(worlds.any_has_joined());
  world.segment.rank(1).claimed_pid.store(4711);
  EXPECT_TRUE(worlds.any_has_joined());
}

TEST(Worlds, RememberThatOneWasChecked) {
  char* none[] = {nullptr};
  Worlds worlds;
  auto world = made_world(1);
  world->environments.emplace_back(none, Options(), Application()).set("TASUKI_CHECK", "0");
  worlds.add(std::move(world));
  EXPECT_FALSE(worlds.checking());
  world = made_world(1, 1);
  world->environments.emplace_back(none, Options(), Application()).set("TASUKI_CHECK", "1");
  World& checked = worlds.add(std::move(world));
  worlds.remove(checked);
  EXPECT_TRUE(worlds.checking());
}

}  // namespace
}  // namespace tasuki::launch
