// Asking boards that the test itself fills in.
#include "launch/doctor/inquiry.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/system/clock.hpp"

namespace tasuki::launch {
namespace {

constexpr std::int64_t kBegin = 5'000;
constexpr Inquiry::Patience kPatience{100, 1'000};

struct Boards {
  explicit Boards(std::size_t count) {
    for (std::size_t rank = 0; rank < count; ++rank) {
      owned.push_back(std::make_unique<CallBoard>());
      pointers.push_back(owned.back().get());
    }
  }
  void enter(std::size_t rank) { owned[rank]->line.word.store(1 << 16 | kInside | 7); }
  void answer(std::size_t rank) {
    RankReport report{};
    report.answers = owned[rank]->asked.load();
    publish_report(report, owned[rank].get());
  }
  std::vector<std::unique_ptr<CallBoard>> owned;
  std::vector<CallBoard*> pointers;
};

TEST(Inquiry, IsOverWhenAllHaveAnswered) {
  Boards boards(3);
  for (std::size_t rank = 0; rank < 3; ++rank) boards.enter(rank);
  Inquiry inquiry(boards.pointers, kBegin, kPatience);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_FALSE(inquiry.over(kBegin + 1));
    EXPECT_FALSE(inquiry.answered(rank));
    boards.answer(rank);
  }
  EXPECT_TRUE(inquiry.over(kBegin + 1));
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(inquiry.answered(rank));
}

TEST(Inquiry, WaitsShortlyForThoseOutsideAndLongerForThoseInside) {
  Boards boards(2);
  Inquiry inquiry(boards.pointers, kBegin, kPatience);
  boards.enter(1);
  boards.answer(1);
  EXPECT_FALSE(inquiry.over(kBegin + kPatience.outside_ns - 1));
  EXPECT_TRUE(inquiry.over(kBegin + kPatience.outside_ns));
  EXPECT_FALSE(inquiry.answered(0));
  boards.enter(0);
  EXPECT_FALSE(inquiry.over(kBegin + kPatience.inside_ns - 1));
  EXPECT_TRUE(inquiry.over(kBegin + kPatience.inside_ns));
}

TEST(Inquiry, AnEarlierAnswerIsNone) {
  Boards boards(1);
  boards.enter(0);
  boards.answer(0);  // not asked
  Inquiry first(boards.pointers, kBegin, kPatience);
  EXPECT_FALSE(first.over(kBegin));
  RankReport report{};
  Inquiry second(boards.pointers, kBegin, kPatience);
  report.answers = 1;  // to the first question, while there are two
  publish_report(report, boards.pointers[0]);
  EXPECT_TRUE(first.over(kBegin));
  EXPECT_FALSE(second.over(kBegin));
  EXPECT_FALSE(second.answered(0));
  boards.answer(0);
  EXPECT_TRUE(second.over(kBegin)) << "two inquiries do not disturb each other";
}

TEST(Inquiry, WithoutABoardNobodyIsWaitedFor) {
  Inquiry inquiry({nullptr, nullptr}, kBegin, kPatience);
  EXPECT_TRUE(inquiry.over(kBegin));
  EXPECT_FALSE(inquiry.answered(1));
}

TEST(Inquiry, OneThatDiedWhileItWroteIsNotWaitedForLonger) {
  Boards boards(1);
  boards.enter(0);
  boards.owned[0]->version.store(1);
  Inquiry inquiry(boards.pointers, kBegin, kPatience);
  EXPECT_FALSE(inquiry.over(kBegin));
  EXPECT_TRUE(inquiry.over(kBegin + kPatience.inside_ns));
  EXPECT_FALSE(inquiry.answered(0));
}

TEST(Inquiry, OfThreadsThatAnswer) {
  constexpr std::size_t kRanks = 4;
  Boards boards(kRanks);
  std::atomic<bool> end{false};
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    boards.enter(rank);
    ranks.emplace_back([&boards, &end, rank] {
      RankReport report{};
      while (!end.load()) {
        const std::uint64_t asked = boards.owned[rank]->asked.load();
        if (asked != report.answers) {
          report.answers = asked;
          publish_report(report, boards.owned[rank].get());
        }
        std::this_thread::yield();
      }
    });
  }
  for (int round = 0; round < 50; ++round) {
    Inquiry inquiry(boards.pointers, clock_ns(), {.outside_ns = 1, .inside_ns = 60'000'000'000});
    while (!inquiry.over(clock_ns())) std::this_thread::yield();
    for (std::size_t rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(inquiry.answered(rank));
  }
  end.store(true);
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace
}  // namespace tasuki::launch
