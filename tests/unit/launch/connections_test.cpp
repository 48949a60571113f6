// Which jobs are connected, by what their ranks say: at first, while they meet and part, and through others.
#include "launch/world/connections.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace tasuki::launch {
namespace {

using Jobs = std::set<std::uint64_t>;

constexpr std::uint64_t kA = 10;
constexpr std::uint64_t kB = 11;
constexpr std::uint64_t kC = 12;

TEST(Connections, AJobThatHasSaidNothingIsAlone) {
  EXPECT_EQ(Connections().of(kA), Jobs{kA});
}

TEST(Connections, WhatIsSpawnedIsConnectedUntilAllOfItHaveSpoken) {
  Connections connections;
  connections.spawned(kA, kB, 2);
  EXPECT_EQ(connections.of(kA), (Jobs{kA, kB}));
  connections.take({kB, 0, {kA}});
  connections.take({kB, 0, {}});
  EXPECT_EQ(connections.of(kB), (Jobs{kA, kB})) << "rank 1 is still on its way";
  connections.take({kB, 1, {kA}});
  EXPECT_EQ(connections.of(kB), (Jobs{kA, kB}));
  connections.take({kB, 1, {}});
  EXPECT_EQ(connections.of(kB), Jobs{kB}) << "the spawner has not even said that it is connected";
  connections.take({kA, 0, {kB}});
  EXPECT_EQ(connections.of(kA), Jobs{kA});
  EXPECT_EQ(connections.of(kB), Jobs{kB});
}

TEST(Connections, TheFirstOfTwoToPartEndsIt) {
  for (const std::uint64_t first : {kA, kB}) {
    Connections connections;
    connections.take({kA, 0, {kB}});
    EXPECT_EQ(connections.of(kB), (Jobs{kA, kB})) << "the other one is about to say so";
    connections.take({kB, 3, {kA}});
    EXPECT_EQ(connections.of(kA), (Jobs{kA, kB}));
    connections.take({first, first == kA ? 0 : 3, {}});
    EXPECT_EQ(connections.of(kA), Jobs{kA});
    EXPECT_EQ(connections.of(kB), Jobs{kB});
    connections.take({first, first == kA ? 0 : 3, {first == kA ? kB : kA}});  // they meet again
    EXPECT_EQ(connections.of(kB), (Jobs{kA, kB}));
  }
}

TEST(Connections, ThroughAJobThatLivesThreeAreConnected) {
  Connections connections;
  connections.take({kA, 0, {kB}});
  connections.take({kB, 0, {kA, kC}});
  connections.take({kC, 0, {kB}});
  EXPECT_EQ(connections.of(kA), (Jobs{kA, kB, kC}));
  EXPECT_EQ(connections.of(kC), (Jobs{kA, kB, kC}));
  connections.forget(kB);
  EXPECT_EQ(connections.of(kA), Jobs{kA});
  connections.take({kB, 0, {kA}});  // too late
  EXPECT_EQ(connections.of(kA), Jobs{kA});
}

}  // namespace
}  // namespace tasuki::launch
