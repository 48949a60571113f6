// Where arenas are, and the memory behind one: every rank's has its own place, all fit in the room that is
// meant for them, and what cannot be made is refused in words.
#include "heap/arena.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <csignal>
#include <string>

#include "heap/interface.hpp"

namespace tasuki::heap {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TEST(ArenaSlots, LieSideBySideWithinTheRoom) {
  for (const int ranks : {1, 2, 3, 8, 256, 4096}) {
    for (const std::uint64_t memory : {kGiB, 23 * kGiB, 12'000 * kGiB}) {
      const Slot first = arena_slot(0, ranks, memory);
      ASSERT_EQ(first.base, kArenaBase);
      ASSERT_TRUE(std::has_single_bit(first.bytes));
      for (const int rank : {0, ranks / 2, ranks - 1}) {
        const Slot slot = arena_slot(rank, ranks, memory);
        EXPECT_EQ(slot.bytes, first.bytes);
        EXPECT_EQ(slot.base, kArenaBase + static_cast<std::uint64_t>(rank) * slot.bytes);
        EXPECT_LE(slot.base + slot.bytes, kArenaLimit);
      }
    }
  }
}

TEST(ArenaSlots, HoldTwiceTheMachineWhereThereIsRoom) {
  EXPECT_EQ(arena_slot(0, 2, 23 * kGiB).bytes, 64 * kGiB);
  EXPECT_EQ(arena_slot(0, 256, 1000 * kGiB).bytes, 128 * kGiB) << "the room divided by the ranks";
  EXPECT_EQ(arena_slot(0, 2, 0).bytes, 4 * kGiB) << "the machine does not tell";
}

TEST(ArenaSlots, RefuseWhatCannotBe) {
  EXPECT_EQ(arena_slot(0, 1 << 16, 23 * kGiB).bytes, 0u);
  EXPECT_EQ(arena_slot(2, 2, 23 * kGiB).bytes, 0u);
  EXPECT_EQ(arena_slot(-1, 2, 23 * kGiB).bytes, 0u);
}

/// A place that is free here, also under sanitizers, which need the room of the arenas for themselves.
Slot free_place(std::uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  munmap(memory, bytes);
  return {reinterpret_cast<std::uint64_t>(memory), bytes};
}

TEST(Arena, IsSparseZeroMemoryAtItsPlaceAndCannotShrink) {
  const Slot slot = free_place(kGiB);
  ArenaFile file;
  const char* reason = nullptr;
  ASSERT_TRUE(make_arena(slot, &file, &reason)) << reason;
  auto* words = reinterpret_cast<std::uint64_t*>(slot.base);
  EXPECT_EQ(words[12345], 0u);
  words[kGiB / 8 - 1] = 1;
  struct stat info {};
  ASSERT_EQ(fstat(file.fd, &info), 0);
  EXPECT_LT(info.st_blocks * 512, 1 << 20);
  EXPECT_NE(ftruncate(file.fd, 0), 0);
  EXPECT_GT(file.fd, 100) << "out of the program's way";
  munmap(words, slot.bytes);
  close(file.fd);
}

TEST(Arena, LeavesAloneWhatIsThere) {
  const Slot slot = free_place(1 << 20);
  void* place = reinterpret_cast<void*>(slot.base);
  ASSERT_EQ(mmap(place, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), place);
  *static_cast<int*>(place) = 7;
  ArenaFile file;
  const char* reason = nullptr;
  EXPECT_FALSE(make_arena(slot, &file, &reason));
  EXPECT_NE(std::string(reason).find("mapped"), std::string::npos);
  EXPECT_EQ(*static_cast<int*>(place), 7);
  munmap(place, 4096);
}

TEST(Arena, LimitOfFileSizesIsNoSignal) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  ArenaFile file;
  const char* reason = nullptr;
  EXPECT_FALSE(make_arena(free_place(1 << 20), &file, &reason));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(std::string(reason).find("ulimit -f"), std::string::npos);
}

}  // namespace
}  // namespace tasuki::heap
