// Reading another process' memory: found by its mark, and refused for good where it is not to be had.
#include "memory/cross_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

namespace tasuki {
namespace {

std::uint64_t address_of(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

/// A child that has `value` in `memory`, where this process has another one, until it is killed.
class Child {
 public:
  Child(std::uint64_t* memory, std::uint64_t value) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      *memory = value;
      if (write(ready[1], "r", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Child() { end(); }
  void end() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    pid_ = 0;
  }
  int pid() const { return pid_; }

 private:
  int pid_ = 0;
};

bool read_one(CrossMemory& peer, std::uint64_t address, std::uint64_t* value) {
  const iovec local{value, sizeof *value};
  const iovec remote{reinterpret_cast<void*>(address), sizeof *value};
  return peer.read(&local, 1, &remote, 1, sizeof *value);
}

TEST(CrossMemory, ReadsAChild) {
  std::uint64_t memory = 1;
  Child child(&memory, 42);
  CrossMemory peer;
  ASSERT_TRUE(peer.probe({.pid = child.pid(), .address = address_of(&memory), .value = 42}))
      << "a child may be read unless the machine forbids the call altogether";
  std::uint64_t got = 0;
  EXPECT_TRUE(read_one(peer, address_of(&memory), &got));
  EXPECT_EQ(got, 42u);
}

TEST(CrossMemory, AnotherProcessThanTheOneThatIsMeant) {
  std::uint64_t memory = 1;
  Child child(&memory, 42);
  CrossMemory peer;
  EXPECT_FALSE(peer.probe({.pid = child.pid(), .address = address_of(&memory), .value = 43}));
  EXPECT_FALSE(peer.probe({.pid = child.pid(), .address = address_of(&memory), .value = 42}))
      << "it is tried once";
  EXPECT_FALSE(peer.is_allowed());
}

TEST(CrossMemory, NoProcessAndNoMark) {
  std::uint64_t memory = 1;
  Child child(&memory, 42);
  const int pid = child.pid();
  EXPECT_FALSE(CrossMemory().probe({}));
  EXPECT_FALSE(CrossMemory().probe({.pid = pid, .address = 0, .value = 42}));
  EXPECT_FALSE(CrossMemory().probe({.pid = pid, .address = 16, .value = 42})) << "nothing lies there";
  child.end();
  EXPECT_FALSE(CrossMemory().probe({.pid = pid, .address = address_of(&memory), .value = 42}));
}

TEST(CrossMemory, AHoleInTheMemoryIsAnErrorOfThatReadOnly) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const pages = static_cast<std::byte*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(pages + page, page);
  std::uint64_t mark = 7;
  CrossMemory self;
  ASSERT_TRUE(self.probe({.pid = getpid(), .address = address_of(&mark), .value = 7}));
  std::vector<std::byte> got(2 * page);
  const iovec local{got.data(), got.size()};
  const iovec remote{pages, 2 * page};
  EXPECT_FALSE(self.read(&local, 1, &remote, 1, 2 * page)) << "half of it is not there";
  EXPECT_TRUE(self.is_allowed());
  std::uint64_t value = 0;
  EXPECT_FALSE(read_one(self, address_of(pages + page), &value));
  EXPECT_TRUE(self.is_allowed());
  EXPECT_TRUE(read_one(self, address_of(&mark), &value));
  EXPECT_EQ(value, 7u);
  munmap(pages, page);
}

TEST(CrossMemory, AProcessThatHasEndedIsRefusedFromThenOn) {
  std::uint64_t memory = 1;
  Child child(&memory, 42);
  CrossMemory peer;
  ASSERT_TRUE(peer.probe({.pid = child.pid(), .address = address_of(&memory), .value = 42}));
  child.end();
  std::uint64_t got = 0;
  EXPECT_FALSE(read_one(peer, address_of(&memory), &got));
  EXPECT_FALSE(peer.is_allowed());
}

}  // namespace
}  // namespace tasuki
