// A transfer: two who claim from both ends copy every byte once, whatever they claim at once; both learn the
// end; and who is late at a word that serves the next transfer takes nothing of it.
#include "protocol/transfer.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace tasuki {
namespace {

constexpr Count kMiB = 1024 * 1024;

/// Claims until nothing is left; adds to `hits` for each grain.
void take_part(Transfer& transfer, std::uint32_t generation, Count bytes, bool from_front, unsigned seed,
               std::vector<std::uint8_t>* hits) {
  std::mt19937 random(seed);
  for (;;) {
    const auto wanted = static_cast<Count>(random() % 20000);
    const ByteRange piece = transfer.claim(generation, bytes, from_front, wanted);
    if (piece.empty()) break;
    for (Count at = piece.begin; at < piece.end; ++at) ++(*hits)[static_cast<std::size_t>(at)];
    transfer.add_done(bytes, piece);
  }
  while (!transfer.is_over(generation, bytes)) std::this_thread::yield();
  for (const std::uint8_t hit : *hits) ASSERT_EQ(hit, 1);
}

TEST(Transfer, TwoTakePartAndEachByteIsCopiedOnce) {
  Transfer transfer;
  std::mt19937 random(1);
  for (std::uint32_t generation = 0; generation < 50; ++generation) {
    const Count bytes = generation < 10 ? 1 + random() % 3000 : 1 + random() % 300000;
    std::vector<std::uint8_t> hits(static_cast<std::size_t>(bytes));
    transfer.start(generation);
    std::thread other([&] { take_part(transfer, generation, bytes, false, 2 * generation, &hits); });
    take_part(transfer, generation, bytes, true, 2 * generation + 1, &hits);
    other.join();
  }
}

TEST(Transfer, OneAloneGetsItAll) {
  Transfer transfer;
  for (const bool front : {true, false}) {
    for (const Count bytes : {Count{1}, kGrainBytes, kGrainBytes + 1, Count{100000}}) {
      transfer.start(7);
      Count done = 0;
      while (done < bytes) {
        EXPECT_FALSE(transfer.is_over(7, bytes));
        const ByteRange piece = transfer.claim(7, bytes, front, 5000);
        ASSERT_FALSE(piece.empty());
        EXPECT_EQ(front ? piece.begin : bytes - piece.end, done);
        done += piece.bytes();
        EXPECT_EQ(transfer.add_done(bytes, piece), done == bytes);
      }
      EXPECT_EQ(done, bytes);
      EXPECT_TRUE(transfer.is_over(7, bytes));
    }
  }
}

TEST(Transfer, TheLateComerTakesNothingOfTheNextOne) {
  Transfer transfer;
  transfer.start(Transfer::kGenerations - 1);
  transfer.start(Transfer::kGenerations);
  EXPECT_TRUE(transfer.is_over(Transfer::kGenerations - 1, kMiB));
  EXPECT_TRUE(transfer.claim(Transfer::kGenerations - 1, kMiB, true, kMiB).empty());
  EXPECT_EQ(transfer.unclaimed(Transfer::kGenerations - 1, kMiB), 0);
  EXPECT_EQ(transfer.claim(Transfer::kGenerations, kMiB, true, kMiB).bytes(), kMiB);
}

TEST(Transfer, CountsMessagesOfAnySize) {
  Transfer transfer;
  for (const Count bytes : {256 * kMiB - 1024, 256 * kMiB, 256 * kMiB + 1, (Count{1} << 40) + 12345}) {
    transfer.start(1);
    const ByteRange front = transfer.claim(1, bytes, true, bytes / 3);
    const ByteRange back = transfer.claim(1, bytes, false, bytes);
    EXPECT_EQ(front.begin, 0);
    EXPECT_EQ(front.end, back.begin);
    EXPECT_EQ(back.end, bytes);
    EXPECT_FALSE(transfer.add_done(bytes, back));
    EXPECT_TRUE(transfer.add_done(bytes, front));
  }
}

}  // namespace
}  // namespace tasuki
