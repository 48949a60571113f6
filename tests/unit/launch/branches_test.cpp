// The shape of the tree of agents, and frames on their way through it. `cat` stands for a launcher with an
// agent behind it: what is sent to it comes back.
#include "launch/hosts/branches.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/system/clock.hpp"
#include "job/message_fields.hpp"

namespace tasuki::launch {
namespace {

std::vector<int> parents(int hosts, int fan_out) {
  std::vector<int> found;
  for (int index = 0; index < hosts; ++index) found.push_back(parent_in_tree(index, fan_out));
  return found;
}

TEST(AgentTree, HasTheShapeOfItsFanOut) {
  EXPECT_EQ(parents(4, 0), (std::vector{-1, -1, -1, -1})) << "no tree";
  EXPECT_EQ(parents(4, 4), (std::vector{-1, -1, -1, -1})) << "no more hosts than mpiexec reaches itself";
  EXPECT_EQ(parents(5, 1), (std::vector{-1, 0, 1, 2, 3})) << "a chain";
  EXPECT_EQ(parents(9, 2), (std::vector{-1, -1, 0, 1, 0, 1, 2, 3, 4})) << "levels of 2, 4, 8";
  EXPECT_EQ(parents(7, 3), (std::vector{-1, -1, -1, 0, 1, 2, 0}));
}

TEST(AgentTree, NobodyHasMoreThanTheFanOutAndAllHaveAParentBefore) {
  for (int fan_out = 1; fan_out <= 40; ++fan_out) {
    std::map<int, int> children;
    for (int index = 0; index < 4096; ++index) {
      const int parent = parent_in_tree(index, fan_out);
      ASSERT_LT(parent, index);
      ASSERT_GE(parent, kThisAgent);
      ASSERT_LE(++children[parent], fan_out) << "of " << parent;
    }
  }
}

TEST(AgentTree, ALevelIsSharedEvenly) {
  std::map<int, int> children;
  for (int index = 0; index < 64; ++index) ++children[parent_in_tree(index, 32)];
  EXPECT_EQ(children[kThisAgent], 32);
  for (int index = 0; index < 32; ++index) EXPECT_EQ(children[index], 1);
}

struct User final : BranchesUser {
  void take_frame_of(int host, Frame frame, std::string_view payload) override {
    frames.emplace_back(host, frame, payload);
  }
  void take_words_of(int host, std::string_view text) override { words[host] += text; }
  void take_loss(const AgentLoss& loss) override { losses.push_back(loss); }
  std::vector<std::tuple<int, Frame, std::string>> frames;
  std::map<int, std::string> words;
  std::vector<AgentLoss> losses;
};

class BranchesTest : public testing::Test {
 protected:
  BranchesTest() { signal(SIGPIPE, SIG_IGN); }
  template <class Condition>
  bool run_until(const Condition& condition) {
    for (const std::int64_t end_ns = clock_ns() + 20'000'000'000; clock_ns() < end_ns;) {
      if (condition()) return true;
      loop_.run_once(20);
      branches_.follow(clock_ns(), 0);
    }
    return false;
  }
  EventLoop loop_;
  User user_;
  Branches branches_{loop_, user_};
};

TEST_F(BranchesTest, FramesForSeveralBehindOneGoThereOnce) {
  branches_.reach(5, kThisAgent, {"cat"});
  branches_.reach(7, 5, {"ssh", "seven"});
  branches_.reach(8, 7, {"ssh", "eight"});
  branches_.send({5}, Frame::kState, "one");
  branches_.send({7}, Frame::kState, "two");
  branches_.send({5, 7, 8, 9}, Frame::kState, "three");
  branches_.send({5}, Frame::kOver, "");
  ASSERT_TRUE(
      run_until([&] { return !user_.frames.empty() && std::get<1>(user_.frames.back()) == Frame::kOver; }));
  // What comes back as if it came from above is read here as an agent reads it.
  ASSERT_EQ(user_.frames.size(), 5U) << "an envelope that comes up has one host in it";
  EXPECT_EQ(user_.frames[0], std::tuple(5, Frame::kReach, std::string(std::get<2>(user_.frames[0]))));
  EXPECT_EQ(user_.frames[2], std::tuple(5, Frame::kState, std::string("one")));
  EXPECT_EQ(user_.frames[3], std::tuple(7, Frame::kState, std::string("two"))) << "in an envelope, of 7";
}

TEST_F(BranchesTest, AnEnvelopeIsOpenedByThoseItIsFor) {
  Frame frame = Frame::kAlive;
  std::string payload;
  EXPECT_TRUE(branches_.take_relay(envelope({kThisAgent, 3}, Frame::kValues, "text"), &frame, &payload));
  EXPECT_EQ(frame, Frame::kValues);
  EXPECT_EQ(payload, "text");
  EXPECT_FALSE(branches_.take_relay(envelope({3}, Frame::kValues, "text"), &frame, &payload));
  EXPECT_FALSE(branches_.take_relay(envelope({kThisAgent}, Frame::kRelay, "text"), &frame, &payload));
  EXPECT_FALSE(branches_.take_relay("nonsense", &frame, &payload));
}

TEST_F(BranchesTest, ALossTellsOfAllBehind) {
  branches_.reach(1, kThisAgent, {"sh", "-c", "echo no luck >&2; exit 9"});
  branches_.reach(2, 1, {"ssh", "two"});
  branches_.reach(3, 2, {"ssh", "three"});
  ASSERT_TRUE(run_until([&] { return !user_.losses.empty(); }));
  ASSERT_EQ(user_.losses.size(), 1U);
  EXPECT_EQ(user_.losses[0].host, 1);
  EXPECT_EQ(user_.losses[0].status, 9);
  EXPECT_EQ(user_.losses[0].behind, (std::vector{2, 3}));
  EXPECT_EQ(user_.words[1], "no luck\n");
  EXPECT_TRUE(branches_.over());
  branches_.reach(2, 1, {"ssh", "two"});
  EXPECT_EQ(user_.losses.back().host, 2) << "its way is gone";
}

TEST_F(BranchesTest, ALauncherThatIsNotThereIsALoss) {
  branches_.reach(4, kThisAgent, {"/no/such/launcher"});
  ASSERT_EQ(user_.losses.size(), 1U);
  EXPECT_EQ(user_.losses[0].why, "cannot run '/no/such/launcher': No such file or directory");
}

TEST_F(BranchesTest, OneThatIsSilentIsLost) {
  branches_.reach(1, kThisAgent, {"sh", "-c", "head -c 17; sleep 100"});  // the greeting comes back
  branches_.reach(2, 1, {"ssh", "two"});
  const std::int64_t end_ns = clock_ns() + 20'000'000'000;
  while (user_.losses.empty() && clock_ns() < end_ns) {
    loop_.run_once(10);
    branches_.follow(clock_ns(), 0.05);
  }
  ASSERT_EQ(user_.losses.size(), 1U);
  EXPECT_EQ(user_.losses[0].why, "nothing was heard of it for 0.05 s");
  EXPECT_EQ(user_.losses[0].behind, (std::vector{2}));
}

TEST(AgentLossText, IsReadAsItWasWritten) {
  const AgentLoss loss{.host = 3, .status = -1, .why = "silence", .behind = {4, 9}};
  const std::string bytes = encode(loss);
  AgentLoss read;
  ASSERT_TRUE(decode(bytes, &read));
  EXPECT_EQ(std::tuple(read.host, read.status, read.why, read.behind),
            std::tuple(loss.host, loss.status, loss.why, loss.behind));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, length), &read));
}

}  // namespace
}  // namespace tasuki::launch
