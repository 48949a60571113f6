// What mpiexec and its agents tell each other comes back as it was, and nothing else is taken for it.
#include "launch/hosts/orders.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>

namespace tasuki::launch {
namespace {

StartOrder an_order() {
  StartOrder order;
  order.job_id = 0x123456789abcdef0;
  order.world = 3;
  order.parent_port = "tasuki:port";
  order.family_hosts = 2;
  order.placement = {{"a", "b"}, {0, 1, 1}, 1};
  order.options.applications.resize(2);
  order.options.applications[0].command = {"./one", "-x", ""};
  order.options.applications[0].environment = {{"A", "1"}};
  order.options.applications[1].ranks = 2;
  order.options.applications[1].command = {"two"};
  order.options.applications[1].directory = "/d";
  order.options.applications[1].inherit = Inherit::kListed;
  order.options.applications[1].inherited = {"PATH"};
  order.options.environment = {{"TASUKI_HEAP", "private"}};
  order.options.output_pattern = "out.%r";
  order.options.stdin_rank = kNoRank;
  order.options.verbose = true;
  order.options.trace = true;
  order.environment = {"X=y=z", "EMPTY="};
  order.directory = "/w";
  order.host_processors = 6;
  order.has_tuning = true;
  order.tuning = std::string("{\0}", 3);
  order.silence_seconds = 2.5;
  return order;
}

TEST(StartOrder, ComesBack) {
  StartOrder back;
  const std::string bytes = encode(an_order());
  ASSERT_TRUE(decode(bytes, &back));
  EXPECT_EQ(encode(back), bytes);
  EXPECT_EQ(back.options.applications[0].command, (std::vector<std::string>{"./one", "-x", ""}));
  EXPECT_EQ(back.options.stdin_rank, kNoRank);
  EXPECT_TRUE(back.options.verbose && back.options.trace);
  EXPECT_FALSE(back.options.report_bindings || back.options.io_times);
  EXPECT_EQ(back.placement.of_rank, (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(back.world, 3U);
  EXPECT_EQ(back.parent_port, "tasuki:port");
  EXPECT_EQ(back.family_hosts, 2);
  EXPECT_DOUBLE_EQ(back.silence_seconds, 2.5);
}

TEST(StartOrder, NumbersThatDoNotFitAreRefused) {
  for (const auto& spoil : {+[](StartOrder* order) { order->placement.of_rank.pop_back(); },
                            +[](StartOrder* order) { order->placement.of_rank[0] = 2; },
                            +[](StartOrder* order) { order->placement.here = -1; },
                            +[](StartOrder* order) { order->options.applications[0].command.clear(); },
                            +[](StartOrder* order) { order->parent_port.assign(local::kPortBytes, 'x'); },
                            +[](StartOrder* order) { order->options.applications[1].ranks = 0; }}) {
    StartOrder order = an_order();
    spoil(&order);
    StartOrder back;
    EXPECT_FALSE(decode(encode(order), &back));
  }
}

TEST(Orders, AnyBytesAreTakenWithoutHarm) {
  std::mt19937 random(1);
  const std::string good = encode(an_order());
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string bytes = good.substr(0, random() % (good.size() + 1));
    if (!bytes.empty()) bytes[random() % bytes.size()] = static_cast<char>(random());
    StartOrder order;
    if (decode(bytes, &order)) EXPECT_EQ(order.placement.of_rank.size(), 3U);
    Hello hello;
    decode(bytes, &hello);
    RankState state;
    decode(bytes, &state);
  }
}

TEST(RankState, GoesFromOneSegmentToTheOther) {
  const auto from = std::make_unique<local::RankBlock>();
  from->claimed_pid = 77;
  from->in_world = 1;
  from->abort_code = -3;
  std::snprintf(from->abort_message, sizeof from->abort_message, "enough");
  from->life = local::Life::kAborting;
  RunStatistics counted;
  counted.polls = 5;
  store(counted, &from->statistics);
  RankState state;
  ASSERT_TRUE(decode(encode(state_of(*from)), &state));
  const auto to = std::make_unique<local::RankBlock>();
  store(state, to.get());
  EXPECT_EQ(to->life.load(), local::Life::kAborting);
  EXPECT_EQ(to->claimed_pid.load(), -1) << "its number means nothing on this host";
  EXPECT_EQ(to->abort_code.load(), -3);
  EXPECT_STREQ(to->abort_message, "enough");
  EXPECT_EQ(load(to->statistics).polls, 5U);
}

TEST(VariablesToSend, LeaveOutWhatBelongsHere) {
  const char* const here[] = {
      "PATH=/bin",  "HOSTNAME=x", "SSH_CONNECTION=1", "TMPDIR=/t", "SLURM_JOB_ID=3", "TASUKI_CHECK=1",
      "HOME=/root", "=C:",        "broken",           nullptr};
  EXPECT_EQ(variables_to_send(here), (std::vector<std::string>{"PATH=/bin", "TASUKI_CHECK=1"}));
}

}  // namespace
}  // namespace tasuki::launch
