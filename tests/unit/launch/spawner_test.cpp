// From a request of ranks to the applications of a world.
#include "launch/job/spawner.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tasuki::launch {
namespace {

TEST(Spawner, TakesProgramsAsTheyWereAskedFor) {
  SpawnRequest request;
  request.programs.push_back({2, {"./one", "a word"}, "/some/where", "/a:/b", "abort"});
  request.programs.push_back({1, {"two"}, "", "", ""});
  std::vector<Application> applications;
  EXPECT_EQ(applications_of(request, &applications), "");
  ASSERT_EQ(applications.size(), 2u);
  EXPECT_EQ(applications[0].ranks, 2);
  EXPECT_EQ(applications[0].command, (std::vector<std::string>{"./one", "a word"}));
  EXPECT_EQ(applications[0].directory, "/some/where");
  EXPECT_EQ(applications[0].path, "/a:/b");
  ASSERT_EQ(applications[0].environment.size(), 1u);
  EXPECT_EQ(applications[0].environment[0].name, "TASUKI_INITIAL_ERRHANDLER");
  EXPECT_TRUE(applications[1].environment.empty());
}

TEST(Spawner, RefusesNoRanksAndTooMany) {
  SpawnRequest request;
  std::vector<Application> applications;
  EXPECT_EQ(applications_of(request, &applications), "cannot start 0 ranks at once, expected 1 to 65536");
  request.programs.push_back({kRanksMax, {"one"}, "", "", ""});
  request.programs.push_back({1, {"two"}, "", "", ""});
  EXPECT_EQ(applications_of(request, &applications), "cannot start 65537 ranks at once, expected 1 to 65536");
}

TEST(Spawner, RefusesAPortThatDoesNotFit) {
  SpawnRequest request;
  request.programs.push_back({1, {"one"}, "", "", ""});
  request.parent_port = std::string(local::kPortBytes, 'x');
  std::vector<Application> applications;
  EXPECT_EQ(applications_of(request, &applications), "the port's name is too long");
}

}  // namespace
}  // namespace tasuki::launch
