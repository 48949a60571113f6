// Where symmetric heaps are, and the memory behind one: every rank's has its own place, all fit in the room
// that is meant for them, and what cannot be made is refused in words.
#include "heap/symmetric_heap.hpp"

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

TEST(HeapSlots, LieSideBySideWithinTheRoom) {
  for (const int ranks : {1, 2, 3, 8, 256, 4096}) {
    for (const std::uint64_t memory : {kGiB, 23 * kGiB, 12'000 * kGiB}) {
      const Slot first = heap_slot(0, ranks, memory);
      ASSERT_EQ(first.base, kSymmetricHeapBase);
      ASSERT_TRUE(std::has_single_bit(first.bytes));
      for (const int rank : {0, ranks / 2, ranks - 1}) {
        const Slot slot = heap_slot(rank, ranks, memory);
        EXPECT_EQ(slot.bytes, first.bytes);
        EXPECT_EQ(slot.base, kSymmetricHeapBase + static_cast<std::uint64_t>(rank) * slot.bytes);
        EXPECT_LE(slot.base + slot.bytes, kSymmetricHeapLimit);
      }
    }
  }
}

TEST(HeapSlots, HoldTwiceTheMachineWhereThereIsRoom) {
  EXPECT_EQ(heap_slot(0, 2, 23 * kGiB).bytes, 64 * kGiB);
  EXPECT_EQ(heap_slot(0, 256, 1000 * kGiB).bytes, 128 * kGiB) << "the room divided by the ranks";
  EXPECT_EQ(heap_slot(0, 2, 0).bytes, 4 * kGiB) << "the machine does not tell";
}

TEST(HeapSlots, RefuseWhatCannotBe) {
  EXPECT_EQ(heap_slot(0, 1 << 16, 23 * kGiB).bytes, 0u);
  EXPECT_EQ(heap_slot(2, 2, 23 * kGiB).bytes, 0u);
  EXPECT_EQ(heap_slot(-1, 2, 23 * kGiB).bytes, 0u);
}

/// A place that is free here, also under sanitizers, which need the room of the symmetric heaps for
/// themselves.
Slot free_place(std::uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  munmap(memory, bytes);
  return {reinterpret_cast<std::uint64_t>(memory), bytes};
}

TEST(SymmetricHeapTest, IsSparseZeroMemoryAtItsPlaceAndCannotShrink) {
  const Slot slot = free_place(kGiB);
  HeapFile file;
  const char* reason = nullptr;
  ASSERT_TRUE(lay_symmetric_heap(slot, false, &file, &reason)) << reason;
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

TEST(SymmetricHeapTest, LeavesAloneWhatIsThere) {
  const Slot slot = free_place(1 << 20);
  void* place = reinterpret_cast<void*>(slot.base);
  ASSERT_EQ(mmap(place, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), place);
  *static_cast<int*>(place) = 7;
  HeapFile file;
  const char* reason = nullptr;
  EXPECT_FALSE(lay_symmetric_heap(slot, false, &file, &reason));
  EXPECT_NE(std::string(reason).find("mapped"), std::string::npos);
  EXPECT_EQ(*static_cast<int*>(place), 7);
  munmap(place, 4096);
}

TEST(SymmetricHeapTest, LimitOfFileSizesIsNoSignal) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  HeapFile file;
  const char* reason = nullptr;
  EXPECT_FALSE(lay_symmetric_heap(free_place(1 << 20), false, &file, &reason));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(std::string(reason).find("ulimit -f"), std::string::npos);
}

}  // namespace
}  // namespace tasuki::heap
