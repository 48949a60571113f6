// What can go wrong before a process is made, and what a world is when nothing did.
#include "launch/start/preparation.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "made_world.hpp"

namespace tasuki::launch {
namespace {

class PreparationTest : public testing::Test {
 protected:
  bool prepare(const std::vector<std::string>& command, int ranks, const std::string& directory = "") {
    Application application;
    application.command = command;
    application.ranks = ranks;
    application.directory = directory;
    world_.applications.push_back(application);
    return preparation_.prepare(&world_, &refusal_);
  }
  EventLoop loop_;
  Printed printed_{loop_};
  Options options_;
  Worlds worlds_;
  Reports reports_{options_, worlds_, printed_.console};
  Preparation preparation_{options_, reports_, "12ab"};
  World world_;
  Refusal refusal_;
};

TEST_F(PreparationTest, ClaimsNoUniverseThatNobodyGave) {
  ASSERT_TRUE(prepare({"/bin/true"}, 1)) << refusal_.text;
  EXPECT_EQ(world_.segment.header().universe_size, 0);
}

TEST_F(PreparationTest, GivesAWorldAllThatItsRanksNeed) {
  options_.universe_size = 7;
  preparation_.set_spawn_socket("a-socket");
  ASSERT_TRUE(prepare({"/bin/true"}, 3)) << refusal_.text;
  EXPECT_EQ(world_.size(), 3);
  EXPECT_EQ(world_.programs.front().path, "/bin/true");
  EXPECT_STREQ(world_.environments.front().get(local::kLauncherIdName), "12ab");
  EXPECT_EQ(world_.segment.size(), 3);
  EXPECT_EQ(world_.segment.header().universe_size, 7);
  EXPECT_STREQ(world_.segment.header().launcher_socket, "a-socket");
}

TEST_F(PreparationTest, RanksFollowTheOrderOfPrograms) {
  Application first;
  first.command = {"/bin/true"};
  first.ranks = 2;
  world_.applications.push_back(first);
  ASSERT_TRUE(prepare({"/bin/false"}, 1)) << refusal_.text;
  ASSERT_EQ(world_.size(), 3);
  EXPECT_EQ(world_.ranks[1].application, 0u);
  EXPECT_EQ(world_.ranks[2].application, 1u);
  EXPECT_EQ(world_.segment.rank(2).application, 1);
}

TEST_F(PreparationTest, AProgramThatIsNotThereIsRefusedAsByAShell) {
  EXPECT_FALSE(prepare({"no-such-program-anywhere"}, 2));
  EXPECT_EQ(refusal_.status, 127);
  EXPECT_EQ(refusal_.text,
            "cannot run 'no-such-program-anywhere' for rank 0: No such file or directory (searched PATH)");
}

TEST_F(PreparationTest, ADirectoryMustBeOne) {
  EXPECT_FALSE(prepare({"/bin/true"}, 1, "/bin/true"));
  EXPECT_EQ(refusal_.text, "cannot start rank 0 in '/bin/true': Not a directory");
  EXPECT_EQ(refusal_.status, 1);
}

TEST_F(PreparationTest, SpawnedRanksAreNotBound) {
  world_.number = 1;
  ASSERT_TRUE(prepare({"/bin/true"}, 1)) << refusal_.text;
  EXPECT_TRUE(world_.bindings.processors.empty());
  EXPECT_EQ(bindings_text(world_, "here", 1),
            "mpiexec: ranks are not bound to processors (they were spawned)");
}

TEST_F(PreparationTest, BindingsAreALineForEachRank) {
  ASSERT_TRUE(prepare({"/bin/true"}, 2)) << refusal_.text;
  world_.bindings.processors = {{0, 1}, {2}};
  world_.segment.rank(1).node = 1;
  EXPECT_EQ(bindings_text(world_, "here", 1),
            "mpiexec: rank 0 on here is bound to processors 0-1\n"
            "mpiexec: rank 1 on here is bound to processor 2");
  EXPECT_EQ(bindings_text(world_, "here", 2),
            "mpiexec: rank 0 on here.node0 is bound to processors 0-1\n"
            "mpiexec: rank 1 on here.node1 is bound to processor 2");
}

}  // namespace
}  // namespace tasuki::launch
