// Finding the jobs of other processes: children that have a job's memory open, as mpiexec has.
#include "launch/visit/running_jobs.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/system/memory_file.hpp"

namespace tasuki::launch {
namespace {

/// A process with a child that makes a world for each of `sizes`, says so and sleeps until it is killed.
class Launcher {
 public:
  explicit Launcher(std::vector<int> sizes, std::uint32_t version = local::kJobVersion) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    const pid_t test = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      end_with(test);
      become(sizes, version, ends[1]);
    }
    close(ends[1]);
    good_ = ::read(ends[0], &child_, sizeof child_) == static_cast<ssize_t>(sizeof child_);
    close(ends[0]);
  }
  ~Launcher() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }
  int child() const { return child_; }
  bool good() const { return good_; }

 private:
  /// Also where the parent has gone already.
  static void end_with(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
  }

  [[noreturn]] static void become(const std::vector<int>& sizes, std::uint32_t version, int told) {
    const pid_t launcher = getpid();
    const pid_t child = fork();  // it has nothing of the job open
    if (child == 0) {
      end_with(launcher);
      for (;;) pause();
    }
    std::vector<std::unique_ptr<WorldSegment>> segments;
    std::string error;
    for (std::size_t world = sizes.size(); world-- > 0;) {  // the order of descriptors must not matter
      segments.push_back(std::make_unique<WorldSegment>());
      if (!segments.back()->make(std::vector<int>(static_cast<std::size_t>(sizes[world])), &error)) _exit(1);
      segments.back()->header().spawn_number = static_cast<int>(world);
      segments.back()->header().version = version;
    }
    if (write(told, &child, sizeof child) != static_cast<ssize_t>(sizeof child)) _exit(1);
    for (;;) pause();
  }

  pid_t pid_ = -1;
  pid_t child_ = -1;
  bool good_ = false;
};

bool finds(int pid) {
  const std::vector<RunningJob> jobs = running_jobs();
  return std::any_of(jobs.begin(), jobs.end(), [pid](const RunningJob& job) { return job.pid == pid; });
}

TEST(RunningJobs, WorldsInTheirOrder) {
  const Launcher launcher({3, 5});
  ASSERT_TRUE(launcher.good());
  RunningJob job;
  std::string error;
  ASSERT_TRUE(find_job(launcher.pid(), &job, &error)) << error;
  ASSERT_EQ(job.segments.size(), 2u);
  EXPECT_EQ(job.segments[0]->size(), 3);
  EXPECT_EQ(job.segments[1]->size(), 5);
  EXPECT_EQ(job.segments[1]->header().launcher_pid, launcher.pid());
  EXPECT_TRUE(finds(launcher.pid()));
}

TEST(RunningJobs, AChildLeadsToItsMpiexec) {
  const Launcher launcher({2});
  ASSERT_TRUE(launcher.good());
  RunningJob job;
  std::string error;
  ASSERT_TRUE(find_job(launcher.child(), &job, &error)) << error;
  EXPECT_EQ(job.pid, launcher.pid());
}

TEST(RunningJobs, TheMemoryIsTheSame) {
  const Launcher launcher({2});
  ASSERT_TRUE(launcher.good());
  RunningJob one;
  RunningJob other;
  std::string error;
  ASSERT_TRUE(find_job(launcher.pid(), &one, &error)) << error;
  ASSERT_TRUE(find_job(launcher.pid(), &other, &error)) << error;
  one.segments[0]->rank(1).claimed_pid.store(4711, std::memory_order_release);
  EXPECT_EQ(other.segments[0]->rank(1).claimed_pid.load(std::memory_order_acquire), 4711);
}

TEST(RunningJobs, SeveralAreNamed) {
  const Launcher one({1});
  const Launcher other({1});
  ASSERT_TRUE(one.good() && other.good());
  RunningJob job;
  std::string error;
  ASSERT_FALSE(find_job(0, &job, &error));
  EXPECT_NE(error.find("jobs run; name one by --job PID:"), std::string::npos) << error;
  for (const Launcher* launcher : {&one, &other}) {
    EXPECT_NE(error.find("\n  " + std::to_string(launcher->pid()) + " ("), std::string::npos) << error;
  }
}

TEST(RunningJobs, ProcessesThatAreNone) {
  RunningJob job;
  std::string error;
  const Launcher without({});
  ASSERT_TRUE(without.good());
  EXPECT_FALSE(find_job(without.pid(), &job, &error));
  EXPECT_NE(error.find("is no mpiexec with a job that runs"), std::string::npos) << error;
  EXPECT_FALSE(finds(without.pid()));
  EXPECT_FALSE(find_job(0x7fffffff, &job, &error));
  EXPECT_EQ(error, "--job 2147483647: there is no such process");
}

TEST(RunningJobs, AnotherVersion) {
  const Launcher launcher({2}, local::kJobVersion + 1);
  ASSERT_TRUE(launcher.good());
  RunningJob job;
  std::string error;
  EXPECT_FALSE(find_job(launcher.pid(), &job, &error));
  EXPECT_NE(error.find("its mpiexec is of another version"), std::string::npos) << error;
}

/// Whether looking into another user's process is refused in words.
bool is_refused(int pid) {
  RunningJob job;
  std::string error;
  return !find_job(pid, &job, &error) && error.find("by the user who started it alone") != std::string::npos;
}

TEST(RunningJobs, OfAnotherUser) {
  if (geteuid() != 0) {
    EXPECT_TRUE(is_refused(1));  // root's
    return;
  }
  const Launcher launcher({2});
  ASSERT_TRUE(launcher.good());
  const pid_t visitor = fork();
  if (visitor == 0) _exit(setuid(65534) == 0 && is_refused(launcher.pid()) ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(visitor, &status, 0), visitor);
  EXPECT_EQ(status, 0);
}

TEST(RunningJobs, AFileThatIsNoJob) {
  const int fd = make_memory_file(local::kSegmentName);
  ASSERT_GE(fd, 0);
  std::string error;
  for (const off_t bytes : {0, 100, 4096, 1 << 20}) {
    ASSERT_EQ(ftruncate(fd, bytes), 0);
    WorldSegment segment;
    EXPECT_FALSE(segment.open(getpid(), fd, &error)) << bytes;
    EXPECT_FALSE(error.empty());
  }
  fix_memory_file(fd, true);
  local::JobHeader header{};
  header.magic = local::kJobMagic;
  header.version = local::kJobVersion;
  for (const int size : {-1, 0, 100'000'000, 65'536}) {  // more ranks than the file has room for
    header.size = size;
    ASSERT_EQ(pwrite(fd, &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
    WorldSegment segment;
    EXPECT_FALSE(segment.open(getpid(), fd, &error)) << size;
  }
  close(fd);
  WorldSegment segment;
  EXPECT_FALSE(segment.open(getpid(), STDIN_FILENO, &error));
  EXPECT_EQ(error, "") << "any other file is none of ours";
}

}  // namespace
}  // namespace tasuki::launch
