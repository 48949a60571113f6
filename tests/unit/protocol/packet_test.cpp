// The lead word keeps its parts apart, and the choice of the protocol has its edges where the table
// says.
#include "protocol/packet.hpp"

#include <gtest/gtest.h>

#include "protocol/choose.hpp"

namespace tasuki {
namespace {

TEST(Packet, LeadWordKeepsKindAndSource) {
  for (const PacketKind kind : {PacketKind::kShort, PacketKind::kFragment, PacketKind::kAcknowledge}) {
    for (const int source : {0, 1, 1000, kRanksMax - 1}) {
      const LeadWord word = lead_word(kind, source);
      EXPECT_EQ(lead_kind(word), kind);
      EXPECT_EQ(lead_source(word), source);
    }
  }
}

TEST(Choose, FollowsTheTable) {
  const ProtocolTable table{.short_bytes_max = 40, .eager_bytes_max = 1000};
  EXPECT_EQ(choose(0, false, true, table), Protocol::kShort);
  EXPECT_EQ(choose(40, false, true, table), Protocol::kShort);
  EXPECT_EQ(choose(41, false, true, table), Protocol::kEager);
  EXPECT_EQ(choose(1000, false, true, table), Protocol::kEager);
  EXPECT_EQ(choose(1001, false, true, table), Protocol::kLong);
  EXPECT_EQ(choose(Count{1} << 40, false, true, table), Protocol::kLong);
}

TEST(Choose, AMessageToBeAcknowledgedIsNeverShort) {
  const ProtocolTable table{.short_bytes_max = 40, .eager_bytes_max = 1000};
  EXPECT_EQ(choose(0, true, true, table), Protocol::kEager);
  EXPECT_EQ(choose(1000, true, true, table), Protocol::kEager);
  EXPECT_EQ(choose(1001, true, true, table), Protocol::kLong);
}

TEST(Choose, InARowTheLongerOfTheShortOnesGoInBulk) {
  ProtocolTable table{.short_bytes_max = 40, .short_stream_bytes_max = 20, .eager_bytes_max = 1000};
  EXPECT_EQ(choose(20, false, false, table), Protocol::kShort);
  EXPECT_EQ(choose(21, false, false, table), Protocol::kEager);
  EXPECT_EQ(choose(21, false, true, table), Protocol::kShort);
  table.eager_bytes_max = 20;
  EXPECT_EQ(choose(21, false, false, table), Protocol::kShort) << "it need not wait for its receive";
}

TEST(Choose, WithoutEagerEverythingButShortWaits) {
  const ProtocolTable table{.short_bytes_max = 40, .eager_bytes_max = 0};
  EXPECT_EQ(choose(40, false, true, table), Protocol::kShort);
  EXPECT_EQ(choose(41, false, true, table), Protocol::kLong);
  EXPECT_EQ(choose(1, true, true, table), Protocol::kLong);
  EXPECT_EQ(choose(0, true, true, table), Protocol::kEager);
}

}  // namespace
}  // namespace tasuki
