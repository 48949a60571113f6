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
  const ProtocolTable table{.short_bytes_max = 40, .eager_bytes_max = 1000, .turn_bytes_max = 5000};
  for (const bool is_turn : {false, true}) {
    EXPECT_EQ(choose(0, false, is_turn, table), Protocol::kShort);
    EXPECT_EQ(choose(40, false, is_turn, table), Protocol::kShort);
    EXPECT_EQ(choose(41, false, is_turn, table), Protocol::kEager);
    EXPECT_EQ(choose(1000, false, is_turn, table), Protocol::kEager);
    EXPECT_EQ(choose(5000, false, is_turn, table), is_turn ? Protocol::kEager : Protocol::kLong);
    EXPECT_EQ(choose(5001, false, is_turn, table), Protocol::kLong);
    EXPECT_EQ(choose(Count{1} << 40, false, is_turn, table), Protocol::kLong);
  }
}

TEST(Choose, AMessageToBeAcknowledgedIsNeverShort) {
  const ProtocolTable table{.short_bytes_max = 40, .eager_bytes_max = 1000, .turn_bytes_max = 5000};
  EXPECT_EQ(choose(0, true, true, table), Protocol::kEager);
  EXPECT_EQ(choose(1000, true, true, table), Protocol::kEager);
  EXPECT_EQ(choose(1001, true, true, table), Protocol::kLong);
}

TEST(Choose, WithoutEagerEverythingButShortWaits) {
  const ProtocolTable table{.short_bytes_max = 40, .eager_bytes_max = 0, .turn_bytes_max = 0};
  EXPECT_EQ(choose(40, false, true, table), Protocol::kShort);
  EXPECT_EQ(choose(41, false, true, table), Protocol::kLong);
  EXPECT_EQ(choose(1, true, true, table), Protocol::kLong);
  EXPECT_EQ(choose(0, true, true, table), Protocol::kEager);
}

}  // namespace
}  // namespace tasuki
