// The copy that a forked child makes: the same contents at the same place, and no other process's from then
// on.
#include "heap/copy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace tasuki::heap {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBytes = std::size_t{16} << 20;
constexpr std::size_t kOffset = 16 * kPage;

/// Shared memory, sparse, some of it written.
class Copy : public ::testing::Test {
 protected:
  void SetUp() override {
    fd_ = memfd_create("copy", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(fd_, kOffset + kBytes + kPage), 0);
    memory_ = map();
    ASSERT_EQ(pwrite(fd_, "before", 6, 0), 6);
    std::memset(memory_, 1, 3 * kPage);
    std::memset(memory_ + (1 << 20), 2, 1 << 20);
    memory_[kBytes - 1] = 3;
    ASSERT_EQ(pwrite(fd_, "after", 5, kOffset + kBytes), 5);
  }
  void TearDown() override {
    munmap(memory_, kBytes);
    close(fd_);
  }
  char* map() const {
    return static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, kOffset));
  }
  SharedRange range() const { return {reinterpret_cast<std::uintptr_t>(memory_), kBytes, kOffset}; }

  void expect_contents() const {
    std::vector<char> expected(kBytes, 0);
    std::memset(expected.data(), 1, 3 * kPage);
    std::memset(expected.data() + (1 << 20), 2, 1 << 20);
    expected[kBytes - 1] = 3;
    EXPECT_EQ(std::memcmp(memory_, expected.data(), kBytes), 0);
  }
  /// Neither the file nor another mapping of it knows what is written here, nor the other way.
  void expect_own() const {
    char* others = map();
    memory_[0] = 77;
    memory_[5 << 20] = 78;
    EXPECT_EQ(others[0], 1);
    EXPECT_EQ(others[5 << 20], 0);
    others[kPage] = 79;
    EXPECT_EQ(memory_[kPage], 1);
    munmap(others, kBytes);
  }

  int fd_ = -1;
  char* memory_ = nullptr;
};

TEST_F(Copy, ReadsTheFile) {
  ASSERT_EQ(make_private(range(), fd_), nullptr);
  expect_contents();
  expect_own();
}

// Large enough for helpers: each part is copied once, whoever does it.
TEST(LargeCopy, IsSharedByHelpers) {
  constexpr std::size_t kLarge = std::size_t{320} << 20;
  const int fd = memfd_create("copy", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, kLarge), 0);
  auto* words = static_cast<std::size_t*>(mmap(nullptr, kLarge, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ASSERT_NE(words, MAP_FAILED);
  constexpr std::size_t kStep = kPage / sizeof(std::size_t);
  constexpr std::size_t kWords = kLarge / sizeof(std::size_t);
  const auto is_hole = [](std::size_t word) { return word / (kStep * 1000) % 7 == 6; };
  for (std::size_t word = 0; word < kWords; word += kStep) {
    if (!is_hole(word)) words[word] = word + 1;
  }
  ASSERT_EQ(make_private({reinterpret_cast<std::uintptr_t>(words), kLarge, 0}, fd), nullptr);
  ASSERT_EQ(ftruncate(fd, 0), 0);  // nothing is the file's any more
  std::size_t wrong = 0;
  for (std::size_t word = 0; word < kWords; word += kStep)
    wrong += words[word] != (is_hole(word) ? 0 : word + 1);
  EXPECT_EQ(wrong, 0u);
  munmap(words, kLarge);
  close(fd);
}

TEST_F(Copy, DoesWithoutTheFile) {
  ASSERT_EQ(make_private(range(), -1), nullptr);
  expect_contents();
  expect_own();
}

TEST_F(Copy, TakesMemoryOnlyForWhatIsThere) {
  ASSERT_EQ(make_private(range(), fd_), nullptr);
  unsigned char resident[kBytes / kPage];
  ASSERT_EQ(mincore(memory_, kBytes, resident), 0);
  std::size_t pages = 0;
  for (unsigned char page : resident) pages += page & 1;
  EXPECT_EQ(pages, 3 + (1 << 20) / kPage + 1);
}

TEST_F(Copy, LeavesMemoryAsItIsWhenItCannotBe) {
  SharedRange impossible = range();
  impossible.bytes = std::size_t{1} << 62;
  EXPECT_NE(make_private(impossible, fd_), nullptr);
  expect_contents();
  memory_[5] = 9;
  char back = 0;
  ASSERT_EQ(pread(fd_, &back, 1, kOffset + 5), 1);
  EXPECT_EQ(back, 9);
}

}  // namespace
}  // namespace tasuki::heap
