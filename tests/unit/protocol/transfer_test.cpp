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

/// Claims until nothing is left; adds to `hits` for each byte.
void take_part(Transfer& transfer, std::uint32_t generation, Count bytes, bool from_front, unsigned seed,
               std::vector<std::uint8_t>* hits) {
  std::mt19937 random(seed);
  TransferPart part(&transfer, generation, bytes, from_front);
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
      TransferPart part(&transfer, 7, bytes, front);
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

TEST(Transfer, TheLateComerTakesNothingOfTheNextOne) {
  Transfer transfer;
  transfer.start(Transfer::kGenerations - 1);
  TransferPart late(&transfer, Transfer::kGenerations - 1, kMiB, true);
  transfer.start(Transfer::kGenerations);
  EXPECT_TRUE(late.claim({}, {}).empty());
  EXPECT_TRUE(late.look());
  TransferPart next(&transfer, Transfer::kGenerations, kMiB, true);
  EXPECT_EQ(next.claim({}, {.divisor = 1}).bytes(), kMiB);
}

TEST(Transfer, CountsMessagesOfAnySize) {
  Transfer transfer;
  for (const Count bytes : {256 * kMiB - 1024, 256 * kMiB, 256 * kMiB + 1, (Count{1} << 40) + 12345}) {
    transfer.start(1);
    TransferPart front(&transfer, 1, bytes, true), back(&transfer, 1, bytes, false);
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
