// What a rank finds in its environment.
#include "launch/program/rank_environment.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace tasuki::launch {
namespace {

class RankEnvironmentTest : public testing::Test {
 protected:
  RankEnvironment made() {
    std::vector<char*> pointers;
    for (std::string& entry : inherited_) pointers.push_back(entry.data());
    pointers.push_back(nullptr);
    return RankEnvironment(pointers.data(), options_, application_);
  }

  std::vector<std::string> inherited_ = {
      "PATH=/bin",      "HOME=/root",    "PMI_RANK=1",      "PMIX_RANK=1",      "SLURM_PROCID=2",
      "SLURM_JOB_ID=7", "TASUKI_RANK=5", "TASUKI_JOB_FD=9", "TASUKI_EXPLAIN=1", "EMPTY="};
  Options options_;
  Application application_;
};

TEST_F(RankEnvironmentTest, PassesOnAllButOtherJobs) {
  const RankEnvironment environment = made();
  EXPECT_STREQ(environment.get("PATH"), "/bin");
  EXPECT_STREQ(environment.get("EMPTY"), "");
  EXPECT_STREQ(environment.get("SLURM_JOB_ID"), "7");
  EXPECT_STREQ(environment.get("TASUKI_EXPLAIN"), "1");
  for (const char* name : {"PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "TASUKI_RANK", "TASUKI_JOB_FD"}) {
    EXPECT_EQ(environment.get(name), nullptr) << name;
  }
}

TEST_F(RankEnvironmentTest, TheProgramsOwnSettingsWin) {
  options_.environment = {{"A", "all"}, {"PATH", "/all"}};
  application_.environment = {{"A", "own"}};
  const RankEnvironment environment = made();
  EXPECT_STREQ(environment.get("A"), "own");
  EXPECT_STREQ(environment.get("PATH"), "/all");
}

TEST_F(RankEnvironmentTest, ListedOrNothing) {
  application_.inherit = Inherit::kListed;
  application_.inherited = {"HOME"};
  EXPECT_STREQ(made().get("HOME"), "/root");
  EXPECT_EQ(made().get("PATH"), nullptr);
  application_.inherit = Inherit::kNone;
  application_.environment = {{"X", "1"}};
  EXPECT_EQ(made().get("HOME"), nullptr);
  EXPECT_STREQ(made().get("X"), "1");
}

TEST_F(RankEnvironmentTest, PreloadsTheHeapBehindWhatTheUserPreloads) {
  RankEnvironment environment = made();
  environment.preload("/prefix/lib/libtasuki_heap.so");
  EXPECT_STREQ(environment.get("LD_PRELOAD"), "/prefix/lib/libtasuki_heap.so");
  environment.set("LD_PRELOAD", "tool.so /other/libtasuki_heap.so:/lib/libjemalloc.so.2");
  environment.preload("/prefix/lib/libtasuki_heap.so");
  EXPECT_STREQ(environment.get("LD_PRELOAD"), "tool.so:/lib/libjemalloc.so.2:/prefix/lib/libtasuki_heap.so");
}

TEST_F(RankEnvironmentTest, EveryNameOnceForExecve) {
  RankEnvironment environment = made();
  set_job_variables(environment, {200, 42, 0xabc, 4}, 0);
  set_job_variables(environment, {200, 42, 0xabc, 4}, 3);
  int ranks = 0;
  const std::vector<char*> pointers = environment.pointers();
  ASSERT_EQ(pointers.back(), nullptr);
  for (std::size_t index = 0; index + 1 < pointers.size(); ++index) {
    ranks += std::strncmp(pointers[index], "TASUKI_RANK=", 12) == 0;
  }
  EXPECT_EQ(ranks, 1);
  EXPECT_STREQ(environment.get("TASUKI_RANK"), "3");
  EXPECT_STREQ(environment.get("TASUKI_JOB_ID"), "abc");
}

}  // namespace
}  // namespace tasuki::launch
