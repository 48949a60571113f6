// Telling from the files of a control group, of both versions, that the kernel killed because of memory.
#include "launch/host/memory_limit.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tasuki::launch {
namespace {

class MemoryLimitTest : public testing::Test {
 protected:
  MemoryLimitTest() {
    std::string pattern = testing::TempDir() + "/memory_limit.XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~MemoryLimitTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  std::filesystem::path root_;
};

TEST_F(MemoryLimitTest, Version2TellsTheLeastLimitOfTheGroupAndItsParents) {
  write("job/memory.max", "1073741824\n");
  write("job/step/memory.max", "max\n");
  write("job/step/memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 0\n");
  const MemoryLimit limit(root_, "0::/job/step\n");
  EXPECT_EQ(limit.exceeded(), "");
  write("job/step/memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 3\noom_group_kill 0\n");
  EXPECT_EQ(limit.exceeded(), "the memory limit of its control group, 1024 MiB, was reached");
}

TEST_F(MemoryLimitTest, Version1) {
  write("memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  write("memory/job/memory.stat",
        "cache 0\nhierarchical_memory_limit 67108864\nhierarchical_memsw_limit 1\n");
  const MemoryLimit limit(root_, "9:cpu:/job\n8:pids,memory:/job\n0::/\n");
  EXPECT_EQ(limit.exceeded(), "");
  write("memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  EXPECT_EQ(limit.exceeded(), "the memory limit of its control group, 64 MiB, was reached");
}

TEST_F(MemoryLimitTest, RoomIsTheLeastThatGroupAndParentsLeave) {
  write("job/memory.max", "1000\n");
  write("job/memory.current", "400\n");
  write("job/step/memory.max", "500\n");
  write("job/step/memory.current", "100\n");
  write("job/step/memory.events", "oom_kill 0\n");
  const MemoryLimit limit(root_, "0::/job/step\n");
  EXPECT_EQ(limit.room_bytes(), 400);
  write("job/memory.current", "990\n");
  EXPECT_EQ(limit.room_bytes(), 10);
  EXPECT_FALSE(limit.has_killed());
  EXPECT_GT(MemoryLimit(root_, "0::/\n").room_bytes(), std::int64_t{1} << 50);

  write("memory/job/memory.oom_control", "oom_kill 0\n");
  write("memory/job/memory.stat", "hierarchical_memory_limit 3000\n");
  write("memory/job/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(MemoryLimit(root_, "8:memory:/job\n").room_bytes(), 2000);
}

TEST_F(MemoryLimitTest, WithoutALimitItIsTheMachine) {
  write("memory.events", "oom_kill 0\n");
  const MemoryLimit limit(root_, "0::/\n");
  write("memory.events", "oom_kill 1\n");
  EXPECT_EQ(limit.exceeded(), "the machine ran out of memory");
}

TEST_F(MemoryLimitTest, AContainerThatSeesItsOwnGroupOnly) {
  write("memory.max", "2097152\n");
  write("memory.events", "oom_kill 4\n");
  const MemoryLimit limit(root_, "0::/of/the/host\n");
  write("memory.events", "oom_kill 5\n");
  EXPECT_EQ(limit.exceeded(), "the memory limit of its control group, 2 MiB, was reached");
}

TEST_F(MemoryLimitTest, NothingToRead) {
  EXPECT_EQ(MemoryLimit(root_, "0::/\n").exceeded(), "");
  EXPECT_EQ(MemoryLimit(root_, "").exceeded(), "");
  EXPECT_EQ(MemoryLimit(root_, "nonsense\n::\n0:memory\n").exceeded(), "");
}

}  // namespace
}  // namespace tasuki::launch
