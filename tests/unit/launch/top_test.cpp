// mpiexec --top looks at made-up ranks: memory as a job segment would hold it.
#include "launch/top/top.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>

#include "base/calls/function.hpp"

namespace tasuki::launch {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// Ranks of one world, and a pipe that takes the picture of them: no terminal.
class TopTest : public testing::Test {
 protected:
  TopTest() {
    if (pipe(ends_.data()) != 0) std::abort();
  }
  ~TopTest() override {
    close(ends_[0]);
    close(ends_[1]);
  }

  void add_rank(local::Life life, Function function = Function::kNone, bool inside = false) {
    Rank& rank = *ranks_.emplace_back(std::make_unique<Rank>());
    rank.block.claimed_pid = getpid();
    rank.block.life = life;
    const std::uint64_t word = next_call(0, function);
    rank.board.line.word = function == Function::kNone ? 0 : inside ? word : word & ~kInside;
    worlds_.resize(1);
    worlds_[0].ranks.push_back({.board = &rank.board, .block = &rank.block});
  }

  std::string line(Top& top, std::int64_t now_ns) {
    EXPECT_TRUE(top.look(worlds_, now_ns));
    return top.picture(worlds_, now_ns);
  }

  struct Rank {
    CallBoard board{};
    local::RankBlock block{};
  };
  std::array<int, 2> ends_{};
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<SubjectWorld> worlds_;
};

TEST_F(TopTest, TellsEachState) {
  add_rank(local::Life::kStarted);
  add_rank(local::Life::kInitialized, Function::kBcast);
  add_rank(local::Life::kInitialized, Function::kRecv, true);
  add_rank(local::Life::kInitialized, Function::kRecv, true);
  add_rank(local::Life::kJoined, Function::kInit, true);
  add_rank(local::Life::kFinalized, Function::kFinalize);
  add_rank(local::Life::kInitialized);
  worlds_[0].ranks.back().ended = true;
  Top top(TopScreen::Place::kBelow, ends_[1], "ring", kSecond);
  EXPECT_FALSE(top.on_terminal());
  EXPECT_EQ(line(top, 68 * kSecond),
            "ring: 7 ranks, 1:07: 1 not in MPI yet, 1 computes, 3 in MPI, 1 finalized, 1 ended "
            "(2 in MPI_Recv); in MPI 43 %");
}

TEST_F(TopTest, AProcessThatIsGoneHasEnded) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  add_rank(local::Life::kInitialized, Function::kRecv, true);
  ranks_[0]->block.claimed_pid = child;
  Top top(TopScreen::Place::kBelow, ends_[1], "ring", 0);
  EXPECT_TRUE(line(top, kSecond).starts_with("ring: 1 rank: 1 ended;"));
}

TEST_F(TopTest, AsksForTheNextPicture) {
  add_rank(local::Life::kInitialized, Function::kRecv, true);
  Top top(TopScreen::Place::kBelow, ends_[1], "ring", 0);
  line(top, kSecond);
  EXPECT_EQ(ranks_[0]->board.asked.load(), 1u);
  line(top, 2 * kSecond);
  EXPECT_EQ(ranks_[0]->board.asked.load(), 2u);
}

TEST_F(TopTest, LooksOftenAndShowsSeldom) {
  add_rank(local::Life::kInitialized);
  Top top(TopScreen::Place::kBelow, ends_[1], "ring", 0);
  int looks = 0;
  int pictures = 0;
  for (std::int64_t now = kSecond; now < 11 * kSecond; now += kSecond / 100) {
    looks += now >= top.due_ns() ? 1 : 0;
    if (!top.look(worlds_, now)) continue;
    top.picture(worlds_, now);
    ++pictures;
  }
  EXPECT_EQ(looks, 200);
  EXPECT_EQ(pictures, 10);
}

TEST_F(TopTest, RatesFollowWhatTheRanksPublish) {
  add_rank(local::Life::kInitialized, Function::kSend, true);
  Top top(TopScreen::Place::kBelow, ends_[1], "ring", 0);
  RunStatistics counts;
  for (int second = 1; second <= 4; ++second) {
    counts.running_ns += 1000;
    counts.ways[static_cast<int>(Way::kGet)].sent = {100ULL * second, 1'024'000ULL * second};
    store(counts, &ranks_[0]->block.statistics);
    const std::string told = line(top, second * kSecond);
    if (second > 1) {
      EXPECT_TRUE(told.ends_with("; 100 messages/s, 1000 KiB/s; get 100 %")) << told;
    }
  }
}

TEST_F(TopTest, BelievesNothing) {
  add_rank(local::Life::kInitialized);
  Rank& rank = *ranks_[0];
  std::memset(static_cast<void*>(&rank.board.line), 0xff, sizeof rank.board.line);
  std::memset(static_cast<void*>(&rank.board.report), 0xff, sizeof rank.board.report);
  std::memset(static_cast<void*>(&rank.block.statistics), 0xff, sizeof rank.block.statistics);
  rank.board.version = 2;
  Top top(TopScreen::Place::kBelow, ends_[1], "ring", 0);
  for (int second = 1; second < 4; ++second) EXPECT_FALSE(line(top, second * kSecond).empty());
}

}  // namespace
}  // namespace tasuki::launch
