// What trips to another host tell of its clock: the shortest counts, and says by how much it may be wrong.
#include "launch/report/host_clock.hpp"

#include <gtest/gtest.h>

namespace tasuki::launch {
namespace {

TEST(ClockTrips, TheShortestCounts) {
  ClockTrips trips;
  EXPECT_FALSE(trips.best().known());
  trips.add(1000, 51'500, 2000);  // 50,000 ahead, if both ways took the same time
  EXPECT_EQ(trips.best().ahead_ns, 50'000);
  EXPECT_EQ(trips.best().at_ns, 1500);
  EXPECT_EQ(trips.best().error_ns, 500);
  trips.add(3000, 53'190, 3200);
  EXPECT_EQ(trips.best().ahead_ns, 50'090);
  EXPECT_EQ(trips.best().error_ns, 100);
  trips.add(4000, 60'000, 9000);
  EXPECT_EQ(trips.best().ahead_ns, 50'090);
}

TEST(ClockTrips, AreOverAfterSome) {
  ClockTrips trips;
  for (int i = 0; i < ClockTrips::kTrips; ++i) {
    EXPECT_FALSE(trips.over());
    trips.add(100 * i, 0, 100 * i - 1);  // which cannot be
  }
  EXPECT_TRUE(trips.over());
  EXPECT_FALSE(trips.best().known());
}

}  // namespace
}  // namespace tasuki::launch
