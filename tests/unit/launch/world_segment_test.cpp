// mpiexec's segment and the rank that attaches to it: the right job, once, and nothing else.
#include "launch/world/world_segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "job/local/local.hpp"
#include "job/local/map_job_segment.hpp"
#include "node/processors.hpp"

namespace tasuki::launch {
namespace {

local::JobAddress address_of(WorldSegment& segment, int rank, int size) {
  return {segment.fd(), static_cast<int>(getpid()), segment.job_id(), rank, size};
}

TEST(WorldSegment, ARankFindsItAndClaimsItself) {
  WorldSegment segment;
  std::string error;
  ASSERT_TRUE(segment.make({0, 0, 1}, &error)) << error;
  local::MappedJob mapped;
  ASSERT_TRUE(local::map_job_segment(address_of(segment, 2, 3), &mapped, &error)) << error;
  EXPECT_EQ(mapped.blocks[2].application, 1);
  EXPECT_EQ(segment.rank(2).claimed_pid.load(), getpid());
  EXPECT_EQ(segment.rank(2).life.load(), local::Life::kJoined);
  EXPECT_EQ(segment.rank(1).claimed_pid.load(), 0);
  EXPECT_EQ(fcntl(mapped.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(WorldSegment, EachRankHasABoardOfItsOwn) {
  WorldSegment segment;
  std::string error;
  ASSERT_TRUE(segment.make({0, 0, 0}, &error)) << error;
  local::MappedJob mapped;
  ASSERT_TRUE(local::map_job_segment(address_of(segment, 1, 3), &mapped, &error)) << error;
  CallBoard* const own = local::board_of_rank(mapped.header, mapped.size, 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(own) % kPageBytes, 0u);
  EXPECT_EQ(own->line.word.load(), 0u);
  own->line.word.store(7);
  own->files_known.store(1);  // its far end
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(segment.board(rank).line.word.load(), rank == 1 ? 7u : 0u);
    EXPECT_EQ(segment.board(rank).files_known.load(), rank == 1 ? 1u : 0u);
    EXPECT_EQ(segment.rank(rank).claimed_pid.load(), rank == 1 ? getpid() : 0);
  }
}

/// A rank that is bound to one processor still knows how many its job has: waiting depends on it.
TEST(WorldSegment, ABoundRankKnowsTheProcessorsOfTheJob) {
  WorldSegment segment;
  std::string error;
  ASSERT_TRUE(segment.make({0, 0}, &error)) << error;
  const int all = local::processors_available();
  const std::vector<int> mask = local::affinity_mask();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(mask.front()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  local::MappedJob mapped;
  const bool is_mapped = local::map_job_segment(address_of(segment, 0, 2), &mapped, &error);
  const std::unique_ptr<Starter> starter = is_mapped ? local::make_job_starter(mapped) : nullptr;
  const int told = is_mapped ? starter->node().processors_available() : 0;
  cpu_set_t old;
  CPU_ZERO(&old);
  for (const int processor : mask) CPU_SET(static_cast<std::size_t>(processor), &old);
  sched_setaffinity(0, sizeof old, &old);
  ASSERT_TRUE(is_mapped) << error;
  EXPECT_EQ(told, all);
}

TEST(WorldSegment, ASecondClaimIsRefusedInWords) {
  WorldSegment segment;
  std::string error;
  ASSERT_TRUE(segment.make({0}, &error)) << error;
  local::MappedJob mapped;
  segment.rank(0).claimed_pid.store(4711);
  EXPECT_FALSE(local::map_job_segment(address_of(segment, 0, 1), &mapped, &error));
  EXPECT_NE(error.find("rank 0 of this job is process 4711"), std::string::npos) << error;
  EXPECT_NE(error.find("TASUKI_SINGLETON=1"), std::string::npos) << error;
  segment.rank(0).life.store(local::Life::kFinalized);
  EXPECT_FALSE(local::map_job_segment(address_of(segment, 0, 1), &mapped, &error));
  EXPECT_NE(error.find("has finalised MPI"), std::string::npos) << error;
}

TEST(WorldSegment, AClosedDescriptorIsFoundThroughProc) {
  WorldSegment segment;
  std::string error;
  ASSERT_TRUE(segment.make({0, 0}, &error)) << error;
  const pid_t child = fork();
  if (child == 0) {
    // As after a script that closes descriptors, and a program that uses the number for a file of its own.
    close(segment.fd());
    const int other = open("/proc/self/exe", O_RDONLY);
    dup2(other, segment.fd());
    local::MappedJob mapped;
    local::JobAddress address = address_of(segment, 1, 2);
    address.launcher_pid = getppid();
    const bool good = local::map_job_segment(address, &mapped, &error) && mapped.fd != segment.fd();
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(segment.rank(1).claimed_pid.load(), child);
}

TEST(WorldSegment, AnotherJobsSegmentIsNotTaken) {
  WorldSegment segment;
  std::string error;
  ASSERT_TRUE(segment.make({0}, &error)) << error;
  local::JobAddress address = address_of(segment, 0, 1);
  address.job_id ^= 1;
  local::MappedJob mapped;
  EXPECT_FALSE(local::map_job_segment(address, &mapped, &error));
  EXPECT_NE(error.find("is over"), std::string::npos) << error;
  address.fd = 777;  // not open, neither here nor there
  EXPECT_FALSE(local::map_job_segment(address, &mapped, &error));
  EXPECT_NE(error.find("cannot reach the job's memory"), std::string::npos) << error;
}

TEST(WorldSegment, AnotherVersionIsNamed) {
  WorldSegment segment;
  std::string error;
  ASSERT_TRUE(segment.make({0}, &error)) << error;
  segment.header().version += 1;
  local::MappedJob mapped;
  EXPECT_FALSE(local::map_job_segment(address_of(segment, 0, 1), &mapped, &error));
  EXPECT_NE(error.find("different versions"), std::string::npos) << error;
}

class Address : public testing::Test {
 protected:
  void SetUp() override {
    setenv(local::kJobFdName, "200", 1);
    setenv(local::kJobPidName, "42", 1);
    setenv(local::kJobIdName, "abc", 1);
    setenv(local::kSizeName, "4", 1);
    setenv(local::kRankName, "3", 1);
  }
  void TearDown() override {
    for (const char* name :
         {local::kJobFdName, local::kJobPidName, local::kJobIdName, local::kSizeName, local::kRankName}) {
      unsetenv(name);
    }
  }
  local::JobAddress address_;
  std::string error_;
};

TEST_F(Address, IsRead) {
  ASSERT_TRUE(local::read_address(&address_, &error_)) << error_;
  EXPECT_EQ(address_.fd, 200);
  EXPECT_EQ(address_.launcher_pid, 42);
  EXPECT_EQ(address_.job_id, 0xabcu);
  EXPECT_EQ(address_.rank, 3);
  EXPECT_EQ(address_.size, 4);
}

TEST_F(Address, BadValuesAreNamed) {
  setenv(local::kRankName, "4", 1);
  EXPECT_FALSE(local::read_address(&address_, &error_));
  EXPECT_EQ(error_, "TASUKI_RANK = 4, expected less than TASUKI_SIZE = 4");
  setenv(local::kRankName, "-1", 1);
  EXPECT_FALSE(local::read_address(&address_, &error_));
  EXPECT_NE(error_.find("TASUKI_RANK = \"-1\""), std::string::npos);
  unsetenv(local::kSizeName);
  EXPECT_FALSE(local::read_address(&address_, &error_));
  EXPECT_NE(error_.find("TASUKI_SIZE is not set"), std::string::npos);
}

}  // namespace
}  // namespace tasuki::launch
