// CooperativeCopy: two ranks that claim from both ends copy every byte once, whatever they claim at once;
// both learn the end; and a rank that is late, at a word that serves the next copy, takes nothing of it.
#include "protocol/cooperative_copy.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace tasuki {
namespace {

constexpr Count kMiB = 1024 * 1024;

/// Claims until nothing is left; adds to `hits` for each byte.
void take_part(CooperativeCopy& copy, std::uint32_t generation, Count bytes, bool from_front, unsigned seed,
               std::vector<std::uint8_t>* hits) {
  std::mt19937 random(seed);
  CooperativeCopyEnd part(&copy, generation, bytes, from_front);
  ByteRange piece;
  for (;;) {
    const ClaimSizes sizes{.divisor = 1 + static_cast<Count>(random() % 6),
                           .bytes_min = static_cast<Count>(random() % 9000)};
    if (random() % 4 == 0) {
      part.report(piece);
      piece = {};
    }
    piece = part.claim(piece, sizes);
    if (piece.empty()) break;
    for (Count at = piece.begin; at < piece.end; ++at) ++(*hits)[static_cast<std::size_t>(at)];
  }
  while (!part.look()) std::this_thread::yield();
  for (const std::uint8_t hit : *hits) ASSERT_EQ(hit, 1);
}

TEST(CooperativeCopy, TwoTakePartAndEachByteIsCopiedOnce) {
  CooperativeCopy copy;
  std::mt19937 random(1);
  for (std::uint32_t generation = 0; generation < 50; ++generation) {
    const Count bytes = generation < 10 ? 1 + random() % 3000 : 1 + random() % 300000;
    std::vector<std::uint8_t> hits(static_cast<std::size_t>(bytes));
    copy.start(generation);
    std::thread other([&] { take_part(copy, generation, bytes, false, 2 * generation, &hits); });
    take_part(copy, generation, bytes, true, 2 * generation + 1, &hits);
    other.join();
  }
}

TEST(CooperativeCopy, OneAloneGetsItAll) {
  CooperativeCopy copy;
  for (const bool front : {true, false}) {
    for (const Count bytes : {Count{1}, kGrainBytes, kGrainBytes + 1, Count{100000}}) {
      copy.start(7);
      CooperativeCopyEnd part(&copy, 7, bytes, front);
      Count done = 0;
      ByteRange piece;
      while (done < bytes) {
        EXPECT_FALSE(part.look());
        piece = part.claim(piece, {.divisor = 3, .bytes_min = 5000});
        ASSERT_FALSE(piece.empty());
        EXPECT_EQ(front ? piece.begin : bytes - piece.end, done);
        done += piece.bytes();
      }
      EXPECT_EQ(done, bytes);
      EXPECT_FALSE(part.look()) << "the last piece has not been copied";
      EXPECT_TRUE(part.claim(piece, {}).empty());
      EXPECT_TRUE(part.is_over());
    }
  }
}

TEST(CooperativeCopy, TheLateComerTakesNothingOfTheNextOne) {
  CooperativeCopy copy;
  copy.start(CooperativeCopy::kGenerations - 1);
  CooperativeCopyEnd late(&copy, CooperativeCopy::kGenerations - 1, kMiB, true);
  copy.start(CooperativeCopy::kGenerations);
  EXPECT_TRUE(late.claim({}, {}).empty());
  EXPECT_TRUE(late.look());
  CooperativeCopyEnd next(&copy, CooperativeCopy::kGenerations, kMiB, true);
  EXPECT_EQ(next.claim({}, {.divisor = 1}).bytes(), kMiB);
}

TEST(CooperativeCopy, CountsMessagesOfAnySize) {
  CooperativeCopy copy;
  for (const Count bytes : {256 * kMiB - 1024, 256 * kMiB, 256 * kMiB + 1, (Count{1} << 40) + 12345}) {
    copy.start(1);
    CooperativeCopyEnd front(&copy, 1, bytes, true), back(&copy, 1, bytes, false);
    const ByteRange first = front.claim({}, {.divisor = 3});
    const ByteRange rest = back.claim({}, {.divisor = 1});
    EXPECT_EQ(first.begin, 0);
    EXPECT_EQ(first.end, rest.begin);
    EXPECT_EQ(rest.end, bytes);
    back.report(rest);
    EXPECT_FALSE(back.is_over());
    front.report(first);
    EXPECT_TRUE(front.is_over());
    EXPECT_TRUE(back.look());
  }
}

}  // namespace
}  // namespace tasuki
