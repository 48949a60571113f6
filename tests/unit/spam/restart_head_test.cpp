// Restart files that are not as they were written: cut at any byte, with any bit turned, of other settings.
#include "restart_head.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "error.hpp"

namespace spam {
namespace {

constexpr std::int64_t kParticles = 10;

Settings settings() {
  Settings all;
  all.file = "case.toml";
  all.space = {10.5, 4, 3, {Boundary::kOpen, Boundary::kMirror}, {Boundary::kPeriodic, Boundary::kPeriodic}};
  all.initial.particles = kParticles;
  all.integration = {0.1, 20};
  return all;
}

RestartHead head() {
  RestartHead head;
  head.step = 7;
  head.time = 0.7;
  head.first = {kParticles, 1, 2, 3, 4, 5, 6};
  head.settings = settings_text(settings());
  head.owners = {0, 1, 1};
  head.costs = {3, 1.5, 0x1p-60};
  head.counts = {4, 6};
  head.particles_checksum = 99;
  return head;
}

/// As a program reads it: the header's bytes, as far as they are there, and then the rest.
RestartHead read(const std::string& bytes, std::int64_t file_bytes) {
  const std::string_view all = bytes;
  const std::int64_t length = check_header("old.spam", all.substr(0, sizeof(RestartHeader)), file_bytes);
  return decode_head("old.spam", all.substr(0, static_cast<std::size_t>(length)));
}

std::string trouble_of(const std::string& bytes, std::int64_t file_bytes) {
  try {
    read(bytes, file_bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string trouble_with(const Settings& other) {
  try {
    check_settings("old.spam", head(), other);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RestartHead, IsReadAsItWasWritten) {
  const RestartHead written = head();
  const std::string bytes = encode_head(written);
  ASSERT_EQ(static_cast<std::int64_t>(bytes.size()), written.bytes());
  const RestartHead again = read(bytes, written.file_bytes());
  EXPECT_EQ(encode_head(again), bytes);
  EXPECT_EQ(again.step, 7);
  EXPECT_EQ(again.first.momentum_scale, 6);
  EXPECT_EQ(again.settings, written.settings);
  EXPECT_EQ(again.costs, written.costs);
  EXPECT_EQ(again.counts, written.counts);
  EXPECT_EQ(written.file_bytes(), written.bytes() + kParticles * 48);
}

TEST(RestartHead, CutShortAnywhereItIsRefused) {
  const std::string bytes = encode_head(head());
  for (std::int64_t length = 0; length < head().file_bytes(); ++length) {
    const std::string cut = bytes.substr(0, static_cast<std::size_t>(length));
    const std::string trouble = trouble_of(cut, length);
    const bool named = trouble.starts_with("old.spam: a restart file cut short") ||
                       (length < 8 && trouble == "old.spam: it is no restart file of spam");
    EXPECT_TRUE(named) << length << " bytes: " << trouble;
  }
  EXPECT_TRUE(
      trouble_of(bytes, head().file_bytes() + 1).starts_with("old.spam: a restart file with something"));
}

TEST(RestartHead, EveryBitOfItIsLookedAt) {
  const std::string bytes = encode_head(head());
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string turned = bytes;
      turned[at] = static_cast<char>(turned[at] ^ 1 << bit);
      EXPECT_TRUE(trouble_of(turned, head().file_bytes()).starts_with("old.spam: ")) << at << ", bit " << bit;
    }
}

TEST(RestartHead, SaysWhatItIsInsteadOfOne) {
  const auto with = [](std::size_t at, std::uint32_t value) {
    std::string bytes = encode_head(head());
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return trouble_of(bytes, head().file_bytes());
  };
  EXPECT_EQ(with(0, 0), "old.spam: it is no restart file of spam");
  EXPECT_EQ(with(8, 2), "old.spam: a restart file of version 2: expected 1");
  EXPECT_EQ(with(12, 0x04030201), "old.spam: its byte order is another machine's");
}

TEST(RestartHead, BelongsToItsSettings) {
  EXPECT_EQ(trouble_with(settings()), "");
  Settings other = settings();
  other.material.range = 2.5;
  EXPECT_EQ(trouble_with(other),
            "old.spam: it belongs to a run with material.range = 3, and case.toml says 2.5");
  other = settings();
  other.space.width = 10.500000000000002;  // the next double
  EXPECT_TRUE(trouble_with(other).starts_with("old.spam: it belongs to a run with space.width = 10.5, and"));
  other = settings();
  other.space.x.high = Boundary::kOpen;
  EXPECT_TRUE(trouble_with(other).ends_with("space.boundary_x = open mirror, and case.toml says open open"));
  other = settings();
  other.integration.time_step = 0.2;
  EXPECT_NE(trouble_with(other).find("integration.time_step = 0.1"), std::string::npos);
  other = settings();
  other.initial.particles = 11;
  EXPECT_TRUE(trouble_with(other).ends_with("initial.particles = 10, and case.toml says 11"));
}

TEST(RestartHead, MayGoOnForLongerAndInParallelOtherwise) {
  Settings other = settings();
  other.parallel.mapping = "flat";
  other.parallel.threads = 7;
  other.integration.steps = 7;
  EXPECT_EQ(trouble_with(other), "");
  other.integration.steps = 6;
  EXPECT_EQ(
      trouble_with(other),
      "old.spam: it was written after 7 steps, and case.toml says integration.steps = 6: expected at least "
      "as many");
}

TEST(RestartHead, ParticlesAreCheckedInAnyParts) {
  std::vector<ParticleRecord> records;
  for (int i = 0; i < 5; ++i) records.push_back({i, {1.0 * i, 2, 3, 4, 5}});
  const std::span<const ParticleRecord> all = records;
  const std::uint64_t whole = records_checksum(all, 0);
  EXPECT_EQ(records_checksum(all.first(2), 0) + records_checksum(all.subspan(2), 2), whole);
  std::swap(records[1], records[3]);
  EXPECT_NE(records_checksum(all, 0), whole);
  std::swap(records[1], records[3]);
  records[4].values[2] = 3.0000000000000004;
  EXPECT_NE(records_checksum(all, 0), whole);
}

}  // namespace
}  // namespace spam
