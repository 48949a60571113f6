// The file of a tmpfs of its own: it works as a memfd does, and leaves nothing behind. Where users may not
// make namespaces there is none.
#include "heap/choice/huge_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "base/system/memory_file.hpp"
#include "memory/mapped_heaps.hpp"

namespace tasuki::heap {
namespace {

std::string text_of(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(HugeFile, IsMemoryWithoutANameThatOthersCanOpen) {
  const std::string mounts = text_of("/proc/self/mountinfo");
  const int fd = make_huge_file("tasuki-heap-0123");
  EXPECT_EQ(text_of("/proc/self/mountinfo"), mounts) << "this process's mounts have changed";
  if (fd < 0) GTEST_SKIP() << "users may not make namespaces here";
  struct stat file {};
  ASSERT_EQ(fstat(fd, &file), 0);
  EXPECT_TRUE(S_ISREG(file.st_mode));
  EXPECT_EQ(file.st_nlink, 0u);
  EXPECT_EQ(file.st_uid, geteuid());
  EXPECT_EQ(file.st_mode & 0777u, 0600u);
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  constexpr off_t kBytes = off_t{1} << 40;  // larger than all memory: nothing limits it
  ASSERT_EQ(ftruncate(fd, kBytes), 0);
  ASSERT_EQ(pwrite(fd, "there", 5, kBytes / 2), 5);
  const int other = open_memory_file(getpid(), fd, "tasuki-heap-");
  ASSERT_GE(other, 0);
  char text[6] = "";
  EXPECT_EQ(pread(other, text, 5, kBytes / 2), 5);
  EXPECT_STREQ(text, "there");
  EXPECT_LT(open_memory_file(getpid(), fd, "tasuki-segment"), 0);
  close(other);
  close(fd);
}

TEST(HugeFile, IsMappedByPeersAsASymmetricHeap) {
  const int fd = make_huge_file("tasuki-heap-0000000000000123");
  if (fd < 0) GTEST_SKIP() << "users may not make namespaces here";
  constexpr std::uint64_t kBytes = std::uint64_t{4} << 20;
  constexpr std::uint64_t kBase = kSymmetricHeapBase + (std::uint64_t{7} << 40);
  ASSERT_EQ(ftruncate(fd, kBytes), 0);
  ASSERT_EQ(pwrite(fd, "there", 5, 4096), 5);
  std::array<PublishedHeap, 2> heaps{};
  heaps[1].pid = getpid();
  heaps[1].fd = fd;
  heaps[1].id = 0x123;
  heaps[1].base = kBase;
  heaps[1].bytes = kBytes;
  heaps[1].is_there.store(1);
  MappedHeaps memory(0, {{0, &heaps[0]}, {1, &heaps[1]}}, nullptr);
  ASSERT_TRUE(memory.locate(1, kBase + 4096, 5).is_shared());
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(kBase + 4096), "there", 5), 0);
  heaps[1].id = 0x124;
  MappedHeaps other(0, {{0, &heaps[0]}, {1, &heaps[1]}}, nullptr);
  EXPECT_FALSE(other.locate(1, kBase, 8).is_shared());
  close(fd);
}

TEST(HugeFile, IsToldApartByItsName) {
  EXPECT_TRUE(is_memory_file_name("/memfd:tasuki-heap-12 (deleted)", "tasuki-heap-"));
  EXPECT_TRUE(is_memory_file_name("/tasuki-heap-12 (deleted)", "tasuki-heap-"));
  EXPECT_FALSE(is_memory_file_name("/tasuki-heap-12", "tasuki-heap-"));
  EXPECT_FALSE(is_memory_file_name("/tmp/tasuki-heap-12 (deleted)", "tasuki-heap-"));
  EXPECT_FALSE(is_memory_file_name("/memfd:other (deleted)", "tasuki-heap-"));
  EXPECT_FALSE(is_memory_file_name("", "tasuki-heap-"));
}

}  // namespace
}  // namespace tasuki::heap
