// The cgroup quota is found in both versions, at every level, and through a container's partial view; ranks
// that share processors start evenly spread.
#include "node/processors.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace tasuki::local {
namespace {

class Quota : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "quotaXXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::string root_;
};

TEST_F(Quota, NoneAnywhere) {
  EXPECT_EQ(processors_in_quota(root_, "0::/user.slice\n"), 0);
  EXPECT_EQ(processors_in_quota(root_, ""), 0);
  EXPECT_EQ(processors_in_quota(root_, "nonsense\n:::\n"), 0);
}

TEST_F(Quota, Version2TakesTheLeastOfAllLevels) {
  write("cpu.max", "max 100000\n");
  write("a/cpu.max", "250000 100000\n");
  write("a/b/cpu.max", "800000 100000\n");
  EXPECT_EQ(processors_in_quota(root_, "0::/a/b\n"), 2);
  EXPECT_EQ(processors_in_quota(root_, "0::/\n"), 0);
}

TEST_F(Quota, LessThanOneProcessorIsOne) {
  write("a/cpu.max", "50000 100000\n");
  EXPECT_EQ(processors_in_quota(root_, "0::/a\n"), 1);
}

TEST_F(Quota, Version1InAContainerThatSeesOnlyItsRoot) {
  write("cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
  write("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const std::string memberships = "12:memory:/docker/1f\n4:cpu,cpuacct:/docker/1f\n3:cpuset:/docker/1f\n";
  EXPECT_EQ(processors_in_quota(root_, memberships), 3);
  EXPECT_EQ(processors_in_quota(root_, "4:cpuset:/docker/1f\n"), 0);
}

TEST_F(Quota, Version1WithoutLimit) {
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors_in_quota(root_, "1:cpu:/\n"), 0);
}

TEST(Processors, HereAreSome) {
  EXPECT_FALSE(affinity_mask().empty());
  EXPECT_GE(processors_available(), 1);
  EXPECT_LE(processors_available(), static_cast<int>(affinity_mask().size()));
}

TEST(HomeProcessor, EachGetsAsManyRanks) {
  const std::vector<int> mask = {1, 4, 5};
  for (int size = 4; size <= 12; ++size) {
    std::map<int, int> ranks;
    int before = 0;
    for (int rank = 0; rank < size; ++rank) {
      const int processor = home_of(mask, rank, size);
      EXPECT_GE(processor, before) << "neighbours together";
      before = processor;
      ++ranks[processor];
    }
    ASSERT_EQ(ranks.size(), 3U);
    for (const int processor : mask) {
      EXPECT_GE(ranks[processor], size / 3);
      EXPECT_LE(ranks[processor], (size + 2) / 3);
    }
  }
}

TEST(HomeProcessor, NobodyIsMovedWhereThereIsOneForEach) {
  EXPECT_EQ(home_of({0, 1, 2}, 1, 3), -1);
  EXPECT_EQ(home_of({0, 1, 2}, 0, 1), -1);
  EXPECT_EQ(home_of({}, 0, 2), -1);
}

TEST(HomeProcessor, LeavesTheMaskAsItWas) {
  const std::vector<int> mask = affinity_mask();
  for (const int processor : mask) EXPECT_TRUE(visit_processor(processor));
  EXPECT_FALSE(visit_processor(mask.back() + 1));
  EXPECT_FALSE(visit_processor(-1));
  EXPECT_EQ(affinity_mask(), mask);
}

}  // namespace
}  // namespace tasuki::local
