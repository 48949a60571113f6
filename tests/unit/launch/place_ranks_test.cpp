// Where spawned ranks go: to free slots, to all where there are not enough, to the hosts that are asked for.
#include "launch/hosts/place_ranks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "made_world.hpp"

namespace tasuki::launch {
namespace {

class PlaceRanks : public testing::Test {
 protected:
  PlaceRanks() { options_.hosts = {{"far.a", "", 2}, {"far.b", "", 2}, {"localhost", "", 1}}; }
  /// The hosts of ranks that are spawned, or why not.
  std::string placed(const std::vector<SpawnProgram>& programs) {
    const Family family(options_);
    Placement placement;
    std::string text;
    if (!family.place_spawned({programs, ""}, worlds_, &placement, &text)) return text;
    if (!placement.spread()) return "here";
    EXPECT_EQ(placement.here, 2);
    for (const int host : placement.of_rank) text += static_cast<char>('a' + host);
    return text;
  }
  static SpawnProgram program(int ranks, const std::string& hosts = "") {
    return {ranks, {"program"}, "", "", "", hosts};
  }
  /// Has ranks run on these hosts.
  void run_on(const std::vector<int>& of_rank) {
    auto world = made_world(static_cast<int>(of_rank.size()));
    world->placement = {{"far.a", "far.b", "localhost"}, of_rank, 2};
    for (Rank& rank : world->ranks) rank.pid = 1;
    worlds_.add(std::move(world));
  }
  Options options_;
  Worlds worlds_;
};

TEST_F(PlaceRanks, FreeSlotsFirst) {
  EXPECT_EQ(placed({program(3)}), "aab");
  run_on({0, 2});
  EXPECT_EQ(placed({program(2)}), "ab");
  EXPECT_EQ(placed({program(3)}), "abb");
  EXPECT_EQ(placed({program(1), program(2)}), "abb") << "programs of one spawn share the slots";
  EXPECT_EQ(placed({program(4)}), "aabb") << "there are three: as if nothing ran";
}

TEST_F(PlaceRanks, WhatHasEndedLeavesItsSlot) {
  run_on({0, 0});
  EXPECT_EQ(placed({program(1)}), "b");
  worlds_.first().ranks[1].ended = true;
  EXPECT_EQ(placed({program(1)}), "a");
}

TEST_F(PlaceRanks, HostsThatAreAskedFor) {
  run_on({1, 1});
  EXPECT_EQ(placed({program(3, "far.b")}), "bbb");
  EXPECT_EQ(placed({program(3, "far.b:2,far.a")}), "bba");
  EXPECT_EQ(placed({program(1, "far.a"), program(1, "far.b")}), "ab");
  EXPECT_EQ(placed({program(2, "127.0.0.1")}), "here") << "this machine, by whatever name";
  EXPECT_EQ(placed({program(1, "far.c")}),
            "info: host = \"far.c\": far.c is none of this job's hosts (far.a, far.b, localhost)");
  EXPECT_EQ(placed({program(1, "far.a:x")}).substr(0, 24), "info: host = \"far.a:x\": ");
}

TEST_F(PlaceRanks, WithoutHostsAllIsHere) {
  options_.hosts.clear();
  EXPECT_EQ(placed({program(3)}), "here");
  EXPECT_EQ(Family(options_).machines(), 1);
  EXPECT_EQ(Family(options_).slots(), 0);
}

TEST_F(PlaceRanks, MachinesAndSlots) {
  EXPECT_EQ(Family(options_).machines(), 3);
  EXPECT_EQ(Family(options_).slots(), 5);
  options_.slots_per_host = 4;
  EXPECT_EQ(Family(options_).slots(), 12);
  options_.hosts = {{"localhost", "", 2}};
  EXPECT_EQ(Family(options_).slots(), 0);
}

TEST(Placement, NodesAreTheHostsThatHaveRanks) {
  const Placement placement{{"a", "b", "c", "d"}, {3, 3, 1, 3}, 0};
  EXPECT_EQ(placement.nodes(), (std::vector<int>{0, 0, 1, 0}));
  EXPECT_TRUE(placement.uses(1));
  EXPECT_FALSE(placement.uses(0));
}

}  // namespace
}  // namespace tasuki::launch
