// Which pages of a program are moved, and that nothing in them changes when they are.
#include "heap/statics.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include <cstring>

namespace tasuki::heap {
namespace {

constexpr std::size_t kPage = 4096;

TEST(StaticData, IsWholePagesWithoutWhatIsProtected) {
  // A segment from the middle of a page on, its first 0x2000 bytes protected once they are relocated.
  StaticData data = pages_of({0x10e00, 0x9000, 0x3000}, {0x10e00, 0x1200, 0x1200}, kPage);
  EXPECT_EQ(data.begin, 0x12000u);
  EXPECT_EQ(data.bytes, 0x8000u);
  EXPECT_EQ(data.file_bytes, 0x2000u);
  // Nothing is protected: from the page on where it begins.
  data = pages_of({0x10e00, 0x9000, 0x3000}, {}, kPage);
  EXPECT_EQ(data.begin, 0x10000u);
  EXPECT_EQ(data.bytes, 0xa000u);
  EXPECT_EQ(data.file_bytes, 0x4000u);
  // What is protected lies elsewhere.
  data = pages_of({0x10000, 0x3000, 0}, {0x4000, 0x1000, 0x1000}, kPage);
  EXPECT_EQ(data.begin, 0x10000u);
  EXPECT_EQ(data.bytes, 0x3000u);
  EXPECT_EQ(data.file_bytes, 0u);
}

TEST(StaticData, MayBeNothing) {
  EXPECT_EQ(pages_of({}, {}, kPage).bytes, 0u);
  EXPECT_EQ(pages_of({0x10e00, 0x200, 0x200}, {0x10e00, 0x200, 0x200}, kPage).bytes, 0u);
}

TEST(StaticData, IsTheSameAfterItWasMoved) {
  constexpr std::size_t kPages = 40;
  constexpr std::size_t kFilePages = 3;
  void* place = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(place, MAP_FAILED);
  auto* memory = static_cast<unsigned char*>(place);
  memset(memory, 5, kFilePages * kPage);
  memory[20 * kPage + 17] = 6;
  memory[kPages * kPage - 1] = 7;
  const int fd = memfd_create("statics", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 100 * kPage), 0);
  constexpr std::size_t kOffset = 10 * kPage;
  void* window = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, kOffset);
  ASSERT_NE(window, MAP_FAILED);
  const StaticData data = {reinterpret_cast<std::uintptr_t>(memory), kPages * kPage, kFilePages * kPage};
  __libc_single_threaded = 1;  // the threads of other tests have ended
  ASSERT_TRUE(move_static_data(data, fd, kOffset, static_cast<std::byte*>(window)));

  // Pages that were never written take no memory (until they are read).
  EXPECT_EQ(lseek(fd, kOffset + 4 * kPage, SEEK_DATA), static_cast<off_t>(kOffset + 20 * kPage));

  for (std::size_t i = 0; i < kPages * kPage; ++i) {
    const int expected = i < kFilePages * kPage    ? 5
                         : i == 20 * kPage + 17    ? 6
                         : i == kPages * kPage - 1 ? 7
                                                   : 0;
    ASSERT_EQ(memory[i], expected) << i;
  }
  // Both addresses are the same memory.
  memory[kPage] = 99;
  EXPECT_EQ(static_cast<unsigned char*>(window)[kPage], 99);
  munmap(window, kPages * kPage);
  munmap(place, kPages * kPage);
  close(fd);
}

}  // namespace
}  // namespace tasuki::heap
