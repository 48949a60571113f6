// Shared segments: that processes see each other's writes, that untouched memory costs nothing, and that what
// cannot be had or is gone is an error.
#include "memory/shared_segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <string>

namespace tasuki {
namespace {

std::unique_ptr<SharedSegment> make(std::size_t bytes) {
  std::string error;
  auto segment = SharedSegment::create(bytes, &error);
  EXPECT_NE(segment, nullptr) << error;
  return segment;
}

TEST(SharedSegment, IsZeroAndPageAligned) {
  const auto segment = make(10000);
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(segment->bytes(), 10000u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment->base()) % page_bytes(), 0u);
  for (std::size_t i = 0; i < segment->bytes(); ++i) ASSERT_EQ(segment->base()[i], std::byte{0});
}

TEST(SharedSegment, TwoMappingsAreOneMemory) {
  const auto made = make(5000);
  ASSERT_NE(made, nullptr);
  std::string error;
  const auto opened = SharedSegment::open(made->address(), &error);
  ASSERT_NE(opened, nullptr) << error;
  EXPECT_NE(opened->base(), made->base());
  made->base()[4999] = std::byte{7};
  EXPECT_EQ(opened->base()[4999], std::byte{7});
}

TEST(SharedSegment, LivesAsLongAsSomebodyMapsIt) {
  auto made = make(100);
  std::string error;
  const auto opened = SharedSegment::open(made->address(), &error);
  ASSERT_NE(opened, nullptr) << error;
  made->base()[0] = std::byte{42};
  made.reset();
  EXPECT_EQ(opened->base()[0], std::byte{42});
}

TEST(SharedSegment, IsThisUsersAloneAndKeepsItsSize) {
  const auto made = make(page_bytes());
  ASSERT_NE(made, nullptr);
  const int fd = made->address().fd;
  struct stat info {};
  ASSERT_EQ(fstat(fd, &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_NE(ftruncate(fd, 0), 0) << "a process that maps it could be made to touch what is not there";
  EXPECT_NE(ftruncate(fd, info.st_size + 1), 0);
  made->base()[page_bytes() - 1] = std::byte{1};
}

TEST(SharedSegment, AnAddressThatIsWrongOpensNothing) {
  const auto made = make(page_bytes());
  ASSERT_NE(made, nullptr);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::string error;
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2 * page_bytes()},
                                    std::uint64_t{1} << 62, UINT64_MAX, UINT64_MAX - page_bytes()}) {
    SegmentAddress wrong = made->address();
    wrong.bytes = bytes == 1 ? page_bytes() + 1 : bytes;
    EXPECT_EQ(SharedSegment::open(wrong, &error), nullptr) << bytes;
  }
  for (const int fd : {0, ends[0], ends[1], -1, 1 << 20}) {  // terminals, pipes and nothing are not touched
    SegmentAddress wrong = made->address();
    wrong.fd = fd;
    EXPECT_EQ(SharedSegment::open(wrong, &error), nullptr) << fd;
    EXPECT_FALSE(error.empty());
  }
  SegmentAddress other = made->address();
  other.id ^= 1;
  EXPECT_EQ(SharedSegment::open(other, &error), nullptr);
  close(ends[0]);
  close(ends[1]);
}

TEST(SharedSegment, AnotherProcessOpensIt) {
  const auto made = make(page_bytes());
  const SegmentAddress address = made->address();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::string error;
    const auto opened = SharedSegment::open(address, &error);
    if (opened == nullptr) _exit(1);
    std::strcpy(reinterpret_cast<char*>(opened->base()), "from the child");
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_STREQ(reinterpret_cast<char*>(made->base()), "from the child");
}

TEST(SharedSegment, UntouchedMemoryCostsNothing) {
  constexpr std::size_t kBytes = std::size_t{3} << 30;
  const auto segment = make(kBytes);
  if (segment == nullptr) return;  // EXPECT in make() has failed
  segment->base()[kBytes - 1] = std::byte{1};
  unsigned char resident = 0;
  ASSERT_EQ(mincore(segment->base() + kBytes / 2, page_bytes(), &resident), 0);
  EXPECT_EQ(resident & 1, 0);
  EXPECT_EQ(segment->base()[kBytes - 1], std::byte{1});
}

TEST(SharedSegment, WhatTheMachineDoesNotHaveIsRefused) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 50, SIZE_MAX - 100, SIZE_MAX}) {
    std::string error;
    EXPECT_EQ(SharedSegment::create(bytes, &error), nullptr) << bytes;
    EXPECT_NE(error.find(std::to_string(bytes)), std::string::npos) << error;
  }
}

TEST(SharedSegment, ALimitOfFileSizesIsAnErrorAndNoSignal) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::string error;
    const bool refused = SharedSegment::create(2 << 20, &error) == nullptr;
    _exit(refused && error.find("ulimit -f") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SharedSegment, OnceNotSharedAnyMoreItCannotBeOpened) {
  const auto made = make(100);
  made->stop_sharing();
  std::string error;
  EXPECT_EQ(SharedSegment::open(made->address(), &error), nullptr);
  EXPECT_FALSE(error.empty());
  made->base()[99] = std::byte{1};  // but it is there
}

TEST(SharedSegment, AnotherFileAtTheSameDescriptorIsTold) {
  auto made = make(100);
  const SegmentAddress address = made->address();
  made.reset();
  const auto other = make(100);
  ASSERT_EQ(other->address().fd, address.fd) << "descriptors are used again, so this can happen";
  std::string error;
  EXPECT_EQ(SharedSegment::open(address, &error), nullptr);
  EXPECT_NE(error.find("not the shared memory"), std::string::npos) << error;
}

TEST(SharedSegment, TheDescriptorIsClosedOnExec) {
  const auto made = make(100);
  EXPECT_EQ(fcntl(made->address().fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

}  // namespace
}  // namespace tasuki
