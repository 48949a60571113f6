// Kept blocks: what comes back fits, no more is kept than allowed, and whoever is in another's way goes on.
#include "heap/kept_blocks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

namespace tasuki::heap {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

std::size_t free_all(FreedBlock* leaving) {
  std::size_t bytes = 0;
  while (leaving != nullptr) {
    FreedBlock* next = leaving->next;
    bytes += leaving->bytes;
    std::free(leaving);
    leaving = next;
  }
  return bytes;
}

TEST(KeptBlocks, AreForSizesThatTheSystemServesSlowly) {
  EXPECT_FALSE(KeptBlocks::is_for(0));
  EXPECT_FALSE(KeptBlocks::is_for(64 * kKiB - 1));
  EXPECT_TRUE(KeptBlocks::is_for(64 * kKiB));
  EXPECT_TRUE(KeptBlocks::is_for(34 * kMiB));
}

// Every size of block, asked for by every size: what is given is large enough and not much too large.
TEST(KeptBlocks, FitTheRequest) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = KeptBlocks::kBlockBytesMin; bytes <= KeptBlocks::kBlockBytesMax;
       bytes += bytes / 9) {
    for (const std::size_t near : {bytes - 1, bytes, bytes + 1}) {
      if (KeptBlocks::is_for(near) && near <= KeptBlocks::kBlockBytesMax) sizes.push_back(near);
    }
  }
  alignas(64) std::byte block[sizeof(FreedBlock)];
  for (const std::size_t bytes : sizes) {
    for (const std::size_t wanted : sizes) {
      KeptBlocks kept;
      ASSERT_EQ(kept.keep(block, bytes, bytes), nullptr);
      const void* taken = kept.take(wanted, 16);
      if (taken != nullptr) {
        ASSERT_EQ(taken, block);
        ASSERT_GE(bytes, wanted);
        ASSERT_LE(bytes, 2 * wanted + 1);
        ASSERT_EQ(kept.take(wanted, 16), nullptr) << "given twice";
      } else {
        ASSERT_FALSE(bytes >= wanted + wanted / 8 && bytes <= wanted + wanted * 3 / 4)
            << bytes << " for " << wanted;
      }
    }
  }
}

TEST(KeptBlocks, KeepTheAlignmentThatIsAskedFor) {
  KeptBlocks kept;
  alignas(4096) static std::byte page[8192];
  ASSERT_EQ(kept.keep(page + 64, 100 * kKiB, 100 * kKiB), nullptr);
  EXPECT_EQ(kept.take(100 * kKiB - 4 * kKiB, 4096), nullptr);
  const void* taken = kept.take(100 * kKiB - 4 * kKiB, 64);
  EXPECT_EQ(taken, page + 64);
}

TEST(KeptBlocks, LeaveWhenThereIsNoMoreRoom) {
  KeptBlocks kept;
  std::size_t in = 0;
  std::size_t out = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::size_t bytes = 64 * kKiB + static_cast<std::size_t>(i % 17) * 300 * kKiB;
    in += bytes;
    out += free_all(kept.keep(std::malloc(sizeof(FreedBlock)), bytes, bytes));
    ASSERT_LE(in - out, KeptBlocks::kBytesMax);
  }
  EXPECT_GT(in - out, KeptBlocks::kBytesMax / 2);
  while (in > out) {
    bool found = false;
    for (std::size_t bytes = 64 * kKiB; bytes <= 8 * kMiB; bytes += bytes / 16) {
      void* block = kept.take(bytes, 16);
      if (block == nullptr) continue;
      found = true;
      out += static_cast<FreedBlock*>(block)->bytes;
      std::free(block);
    }
    ASSERT_TRUE(found) << in - out << " bytes are lost";
  }
}

// Of the last large block the head stays; the small ones share the rest of the room with it.
TEST(KeptBlocks, HoldOneLargeBlock) {
  KeptBlocks kept;
  alignas(16) FreedBlock first;
  alignas(16) FreedBlock second;
  alignas(16) FreedBlock small;
  EXPECT_EQ(kept.keep(&small, 32 * kMiB, 32 * kMiB), nullptr);
  EXPECT_EQ(kept.keep(&first, 256 * kMiB, 44 * kMiB), &small) << "together they are too much";
  EXPECT_EQ(kept.keep(&second, 300 * kMiB, 44 * kMiB), &first);
  EXPECT_EQ(first.next, nullptr);
  EXPECT_EQ(kept.take(301 * kMiB, 16), nullptr);
  EXPECT_EQ(kept.take(100 * kMiB, 16), nullptr) << "much too large";
  EXPECT_EQ(kept.take(200 * kMiB, 16), &second);
  EXPECT_EQ(second.resident, 44 * kMiB);
  EXPECT_EQ(kept.take(200 * kMiB, 16), nullptr);
  EXPECT_EQ(kept.keep(&first, 256 * kMiB, 44 * kMiB), nullptr);
  EXPECT_EQ(kept.keep(&small, 1 * kMiB, 1 * kMiB), nullptr);
  const FreedBlock* all = kept.drop_all();
  ASSERT_NE(all, nullptr);
  ASSERT_NE(all->next, nullptr);
  EXPECT_EQ(all->next->next, nullptr);
  EXPECT_EQ(kept.drop_all(), nullptr);
}

TEST(KeptBlocks, AreNeverGivenToTwoThreads) {
  static KeptBlocks kept;
  constexpr int kThreads = 4;
  constexpr int kRounds = 20'000;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 1; thread <= kThreads; ++thread) {
    threads.emplace_back([thread, &wrong] {
      for (int i = 0; i < kRounds; ++i) {
        void* block = kept.take(100'000, 16);
        if (block == nullptr) block = std::malloc(2 * sizeof(FreedBlock));
        auto* mark = reinterpret_cast<std::atomic<int>*>(static_cast<FreedBlock*>(block) + 1);
        mark->store(thread);
        if (mark->load() != thread) ++wrong;
        free_all(kept.keep(block, 114'688, 114'688));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  while (void* block = kept.take(100'000, 16)) std::free(block);
}

}  // namespace
}  // namespace tasuki::heap
