// Settings that all ranks must have alike: what is told, and how a difference reads.
#include "environment/agreed_settings.hpp"

#include <gtest/gtest.h>

#include "base/variables/settings.hpp"

namespace tasuki {
namespace {

TEST(AgreedSettings, TellsWhatMustBeAlikeAndWasSet) {
  Config config;
  EXPECT_EQ(agreed_settings(config), "");
  config.spin_count = 7;  // each rank's own affair
  EXPECT_EQ(agreed_settings(config), "");
  config.check = 2;
  config.segment_bytes = 64 * 1024;
  EXPECT_EQ(agreed_settings(config), "TASUKI_SEGMENT_BYTES=64k\nTASUKI_CHECK=2\n");
}

TEST(AgreedSettings, NamesTheFirstThatDiffers) {
  const std::string one = "TASUKI_SEGMENT_BYTES=64k\nTASUKI_CHECK=2\n";
  EXPECT_EQ(difference_of_settings(3, one, one), "");
  EXPECT_EQ(difference_of_settings(3, one, "TASUKI_SEGMENT_BYTES=64k\nTASUKI_CHECK=1\n"),
            "TASUKI_CHECK is 1 at rank 0 and 2 at rank 3; it must be the same for all ranks");
  EXPECT_EQ(difference_of_settings(3, one, "TASUKI_CHECK=2\n"),
            "TASUKI_SEGMENT_BYTES is not set at rank 0 and 64k at rank 3; it must be the same for all ranks");
  EXPECT_EQ(difference_of_settings(1, "", "TASUKI_CHECK=2\n"),
            "TASUKI_CHECK is 2 at rank 0 and not set at rank 1; it must be the same for all ranks");
}

TEST(AgreedSettings, ManyAreToldAsANumber) {
  Config config;
  for (const Setting& setting : settings()) {
    if (setting.scope == Scope::kAllEqual) config.*setting.value = setting.max;
  }
  const std::string many = agreed_settings(config);
  EXPECT_LE(many.size(), kValueBytesMax);
  EXPECT_EQ(many.front(), '#');
  EXPECT_EQ(difference_of_settings(1, many, many), "");
  EXPECT_EQ(difference_of_settings(1, many, "#1\n"),
            "the settings of rank 0 and of rank 1 that must be the same for all ranks differ");
  EXPECT_FALSE(difference_of_settings(1, many, "").empty());
}

}  // namespace
}  // namespace tasuki
