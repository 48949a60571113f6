// The environment variables: values that are taken, and the words with which others are refused.
#include "base/variables/settings.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/variables/counters.hpp"
#include "base/variables/former_names.hpp"

namespace tasuki {
namespace {

/// Sets one variable for the length of a test.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

struct Outcome {
  bool valid;
  Config config;
  std::string error;
  std::string warning;
};

Outcome read() {
  Outcome outcome{};
  outcome.valid = read_settings(environ, &outcome.config, &outcome.error, &outcome.warning);
  return outcome;
}

TEST(ConfigTest, DefaultsWithoutVariables) {
  const Outcome outcome = read();
  EXPECT_TRUE(outcome.valid);
  EXPECT_EQ(outcome.config.eager_bytes_max, Config{}.eager_bytes_max);
  EXPECT_EQ(outcome.warning, "");
}

TEST(ConfigTest, BytesWithSuffix) {
  const Setting eager("TASUKI_EAGER_BYTES_MAX", "64k");
  const Setting ring("TASUKI_RING_BYTES", "1M");
  const Outcome outcome = read();
  EXPECT_TRUE(outcome.valid);
  EXPECT_EQ(outcome.config.eager_bytes_max, 64u * 1024);
  EXPECT_EQ(outcome.config.ring_bytes, 1024u * 1024);
}

TEST(ConfigTest, Flags) {
  {
    const Setting explain("TASUKI_EXPLAIN", "Yes");
    const Outcome outcome = read();
    EXPECT_TRUE(outcome.valid);
    EXPECT_TRUE(outcome.config.explain);
  }
  const Setting explain("TASUKI_EXPLAIN", "0");
  const Outcome outcome = read();
  EXPECT_TRUE(outcome.valid);
  EXPECT_FALSE(outcome.config.explain);
}

TEST(ConfigTest, BadValuesNameTheVariableItsValueAndWhatWasExpected) {
  const struct {
    const char* name;
    const char* value;
  } cases[] = {{"TASUKI_EAGER_BYTES_MAX", "lots"}, {"TASUKI_EAGER_BYTES_MAX", "-1"},
               {"TASUKI_EAGER_BYTES_MAX", "2G"},   {"TASUKI_RING_BYTES", "12"},
               {"TASUKI_RING_BYTES", "64kk"},      {"TASUKI_SPIN_COUNT", "1e3"},
               {"TASUKI_EXPLAIN", "maybe"}};
  for (const auto& bad : cases) {
    const Setting setting(bad.name, bad.value);
    const Outcome outcome = read();
    EXPECT_FALSE(outcome.valid) << bad.name << "=" << bad.value;
    EXPECT_EQ(outcome.error.find(std::string(bad.name) + " = \"" + bad.value + "\", expected "), 0u)
        << outcome.error;
  }
}

TEST(ConfigTest, UnknownNameWarns) {
  const Setting setting("TASUKI_EAGER_BYTE_MAX", "1");
  const Outcome outcome = read();
  EXPECT_TRUE(outcome.valid);
  EXPECT_NE(outcome.warning.find("TASUKI_EAGER_BYTE_MAX is set but unknown"), std::string::npos);
}

TEST(ConfigTest, FormerNamesAreTakenAndThePresentOneIsSaid) {
  const Setting setting("TASUKI_PROTOCOL_PULL", "0");
  const Outcome outcome = read();
  EXPECT_TRUE(outcome.valid);
  EXPECT_EQ(outcome.config.get, 0);
  EXPECT_NE(outcome.warning.find("TASUKI_PROTOCOL_PULL is called TASUKI_PROTOCOL_GET now"),
            std::string::npos);
}

TEST(ConfigTest, FormerAlgorithmsAreTakenAndThePresentOneIsSaid) {
  for (const FormerName& row : kFormerAlgorithms) {
    std::int64_t present = 0;
    {
      const Setting setting("TASUKI_BCAST_ALGORITHM", row.present);
      const Outcome outcome = read();
      ASSERT_TRUE(outcome.valid) << outcome.error;
      EXPECT_EQ(outcome.warning, "");
      present = outcome.config.bcast_algorithm;
    }
    const Setting setting("TASUKI_BCAST_ALGORITHM", row.former);
    const Outcome outcome = read();
    ASSERT_TRUE(outcome.valid) << outcome.error;
    EXPECT_EQ(outcome.config.bcast_algorithm, present);
    EXPECT_EQ(outcome.warning, std::string("TASUKI_BCAST_ALGORITHM: ") + row.former + " is called " +
                                   row.present + " now; this release still takes the former name");
  }
  const Setting setting("TASUKI_HEAP", "shared");
  EXPECT_FALSE(read().valid) << "no choice of an algorithm";
}

TEST(ConfigTest, AnAlgorithmThatAnOperationHasNotIsRefusedWithThoseItHas) {
  const Setting setting("TASUKI_BARRIER_ALGORITHM", "shared");
  const Outcome outcome = read();
  EXPECT_FALSE(outcome.valid);
  EXPECT_EQ(outcome.error,
            "TASUKI_BARRIER_ALGORITHM = \"shared\", expected cheapest, dissemination, "
            "flag_based or hierarchical");
}

TEST(FormerNamesTest, CountersOfAlgorithms) {
  EXPECT_EQ(present_counter("bcast_shared_copy"), "bcast_kept_copy");
  EXPECT_EQ(present_counter("reduce_scatter_two_level"), "reduce_scatter_hierarchical");
  EXPECT_EQ(present_counter("sent_pull_bytes"), "sent_get_bytes");
  EXPECT_EQ(present_counter("bcast_chain"), "bcast_chain");
}

TEST(FormerNamesTest, PresentOnesAreThoseOfSettingsAndCounters) {
  for (const FormerName& row : kFormerNames) {
    const auto is = [](const std::string& name) {
      return [&name](const auto& one) { return one.name == name; };
    };
    EXPECT_TRUE(std::ranges::any_of(settings(), is(row.present)) ||
                std::ranges::any_of(counter_table(), is(row.present)))
        << row.present;
    EXPECT_FALSE(std::ranges::any_of(settings(), is(row.former)) ||
                 std::ranges::any_of(counter_table(), is(row.former)))
        << row.former;
    EXPECT_STREQ(present_name(row.former), row.present);
  }
  EXPECT_STREQ(present_name("polls"), "polls");
}

}  // namespace
}  // namespace tasuki
