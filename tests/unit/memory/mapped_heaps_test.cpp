// What a rank makes of what its peers publish: it maps a symmetric heap where symmetric heaps belong and if
// it is the memory that was named, reaches nothing outside of it, and takes all else for private. The peer is
// a memfd of this process.
#include "memory/mapped_heaps.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "base/system/memory_file.hpp"

namespace tasuki {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kId = 0x0123456789abcdef;

class Peers : public testing::Test {
 protected:
  void SetUp() override {
    fd_ = make_memory_file("tasuki-heap-0123456789abcdef");
    ASSERT_GE(fd_, 0);
    ASSERT_EQ(ftruncate(fd_, kBytes), 0);
    fix_memory_file(fd_, false);
    own_view_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    ASSERT_NE(own_view_, MAP_FAILED);
    // The thread sanitizer has its shadow there, and does not let the place be mapped.
    void* place = reinterpret_cast<void*>(kBase);
    void* probe = mmap(place, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    mappable_ = probe == place;
    if (mappable_) munmap(probe, kBytes);
  }
  void TearDown() override {
    munmap(own_view_, kBytes);
    close(fd_);
  }

  /// Rank 1 publishes its symmetric heap.
  void publish() {
    PublishedHeap& peer = heaps_[1];
    peer.pid = getpid();
    peer.fd = fd_;
    peer.id = kId;
    peer.base = kBase;
    peer.bytes = kBytes;
    peer.is_there.store(1, std::memory_order_release);
  }
  MappedHeaps made() { return MappedHeaps(0, {{0, &heaps_[0]}, {1, &heaps_[1]}}, nullptr); }

  static constexpr std::uint64_t kBase = kSymmetricHeapBase + (std::uint64_t{5} << 40);
  std::array<PublishedHeap, 2> heaps_{};
  int fd_ = -1;
  void* own_view_ = nullptr;
  bool mappable_ = false;
};

TEST_F(Peers, AreMappedAtTheirAddressWhenFirstAskedFor) {
  MappedHeaps memory = made();
  EXPECT_FALSE(memory.locate(1, kBase, 8).is_shared()) << "not published yet";
  publish();
  ASSERT_EQ(memory.locate(1, kBase + 4096, 8).is_shared(), mappable_);
  if (!mappable_) return;
  std::strcpy(static_cast<char*>(own_view_) + 4096, "hello");
  EXPECT_STREQ(reinterpret_cast<char*>(kBase + 4096), "hello");
}

TEST_F(Peers, NothingOutsideTheHeapIsReached) {
  publish();
  MappedHeaps memory = made();
  EXPECT_EQ(memory.locate(1, kBase, kBytes).is_shared(), mappable_);
  EXPECT_FALSE(memory.locate(1, kBase, kBytes + 1).is_shared());
  EXPECT_FALSE(memory.locate(1, kBase - 1, 1).is_shared());
  EXPECT_FALSE(memory.locate(1, kBase + kBytes, 1).is_shared());
  EXPECT_FALSE(memory.locate(1, kBase + kBytes - 4, 8).is_shared());
  EXPECT_FALSE(memory.locate(1, kBase + 8, UINT64_MAX - 7).is_shared()) << "wraps around";
  EXPECT_FALSE(memory.locate(1, UINT64_MAX, 2).is_shared());
  EXPECT_FALSE(memory.locate(1, 0, 1).is_shared());
  EXPECT_FALSE(memory.locate(0, kBase, 8).is_shared()) << "this rank has no symmetric heap";
  EXPECT_FALSE(memory.locate(2, kBase, 8).is_shared()) << "of another job";
  EXPECT_FALSE(memory.locate(-1, kBase, 8).is_shared());
}

TEST_F(Peers, DamagedEntriesAreRefused) {
  struct {
    const char* what;
    void (*damage)(PublishedHeap&);
  } const cases[] = {
      {"process", [](PublishedHeap& peer) { peer.pid = 0; }},
      {"descriptor", [](PublishedHeap& peer) { peer.fd = 0; }},
      {"no descriptor", [](PublishedHeap& peer) { peer.fd = -1; }},
      {"other memory", [](PublishedHeap& peer) { peer.id ^= 1; }},
      {"larger than its file", [](PublishedHeap& peer) { peer.bytes *= 2; }},
      {"empty", [](PublishedHeap& peer) { peer.bytes = 0; }},
      {"below the room", [](PublishedHeap& peer) { peer.base = 4096; }},
      {"above the room", [](PublishedHeap& peer) { peer.base = kSymmetricHeapLimit - kBytes / 2; }},
      {"wraps around", [](PublishedHeap& peer) { peer.bytes = UINT64_MAX - kSymmetricHeapBase; }},
      {"not on a page", [](PublishedHeap& peer) { peer.base += 64; }},
  };
  for (const auto& [what, damage] : cases) {
    publish();
    damage(heaps_[1]);
    MappedHeaps memory = made();
    EXPECT_FALSE(memory.locate(1, kBase, 8).is_shared()) << what;
    EXPECT_FALSE(memory.locate(1, heaps_[1].base, 8).is_shared()) << what;
  }
}

TEST_F(Peers, NeverHideWhatThisProcessHasThere) {
  if (!mappable_) return;  // nothing of the program's can be there either
  void* place = reinterpret_cast<void*>(kBase);
  ASSERT_EQ(
      mmap(place, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
      place);
  *static_cast<int*>(place) = 7;
  publish();
  {
    MappedHeaps memory = made();
    EXPECT_FALSE(memory.locate(1, kBase, 8).is_shared());
  }
  EXPECT_EQ(*static_cast<int*>(place), 7);
  munmap(place, 4096);
}

TEST_F(Peers, WithoutAHeapLibraryAllocationsArePrivate) {
  MappedHeaps memory = made();
  void* block = memory.allocate(100, 64);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
  EXPECT_EQ(memory.locate(block, 100).address, 0u);
  memory.deallocate(block);
}

}  // namespace
}  // namespace tasuki
