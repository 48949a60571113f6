// SharedLock among processes: one holds it at a time; a holder that is stopped is waited for; one that was
// killed ends the wait with its name.
#include "base/system/shared_lock.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <new>
#include <thread>

#include "support/lock_users.hpp"

namespace tasuki {
namespace {

struct Shared {
  SharedLock lock;
  std::atomic<int> held;
  int count;
};

class SharedLocks : public testing::Test {
 protected:
  SharedLocks()
      : shared_(new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                    Shared{}) {}
  ~SharedLocks() override { munmap(shared_, sizeof *shared_); }

  static ProcessIdentity start(const std::function<void()>& body) {
    const int pid = fork();
    if (pid == 0) {
      body();
      _exit(0);
    }
    return {pid, state_of_process(pid).start_ticks, own_numbering()};
  }
  /// User 1, which takes the lock and stops.
  ProcessIdentity start_holder() {
    const ProcessIdentity holder = start([this] {
      shared_->lock.lock(TestLockUser(1, 2));
      shared_->held = 1;
      raise(SIGSTOP);
      shared_->lock.unlock();
    });
    while (shared_->held == 0 || !state_of_process(holder.pid).stopped()) std::this_thread::yield();
    return holder;
  }
  static int end_of(int pid) {
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status;
  }

  Shared* const shared_;
};

TEST_F(SharedLocks, OneProcessHoldsItAtATime) {
  constexpr int kUsers = 4;
  constexpr int kTurns = 20'000;
  std::vector<int> users;
  for (int number = 0; number < kUsers; ++number) {
    users.push_back(start([this, number] {
                      const TestLockUser user(number, kUsers);
                      for (int turn = 0; turn < kTurns; ++turn) {
                        const SharedLockGuard held(&shared_->lock, &user);
                        ++shared_->count;
                      }
                    }).pid);
  }
  for (const int pid : users) EXPECT_EQ(end_of(pid), 0);
  EXPECT_EQ(shared_->count, kUsers * kTurns);
}

TEST_F(SharedLocks, AHolderThatIsStoppedIsWaitedFor) {
  const ProcessIdentity holder = start_holder();
  const TestLockUser user(0, 2, {{}, holder});
  std::atomic<bool> has_gone_on{false};
  std::thread debugger([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    has_gone_on = true;
    kill(holder.pid, SIGCONT);
  });
  shared_->lock.wait_until_free(user);
  EXPECT_TRUE(has_gone_on);
  shared_->lock.lock(user);
  debugger.join();
  EXPECT_EQ(end_of(holder.pid), 0);
}

TEST_F(SharedLocks, AHolderThatWasKilledEndsTheWait) {
  const ProcessIdentity holder = start_holder();
  const TestLockUser user(0, 2, {{}, holder});
  kill(holder.pid, SIGKILL);
  const auto exits = testing::ExitedWithCode(7);
  // While nobody has asked for its end, and when its number is free again.
  EXPECT_EXIT(shared_->lock.lock(user), exits, "user 1 died while it held a lock");
  EXPECT_TRUE(WIFSIGNALED(end_of(holder.pid)));
  EXPECT_EXIT(shared_->lock.lock(user), exits, "user 1 died while it held a lock");
  EXPECT_EXIT(shared_->lock.wait_until_free(user), exits, "user 1 died while it held a lock");
}

TEST_F(SharedLocks, AWordThatNobodyWritesIsDamaged) {
  const TestLockUser user(0, 1000);
  for (std::uint32_t word = 1; word != 0; word <<= 1) EXPECT_EQ(user.holder(word), LockUser::kNone) << word;
  EXPECT_EQ(user.holder(TestLockUser(999, 1000).word()), 999);
  EXPECT_EQ(user.holder(TestLockUser(1000, 1001).word()), LockUser::kNone);
  const std::uint32_t word = 77;
  std::memcpy(static_cast<void*>(&shared_->lock), &word, sizeof word);
  EXPECT_EXIT(shared_->lock.lock(user), testing::ExitedWithCode(7),
              "the holder of a lock is 77, which none of them writes");
}

}  // namespace
}  // namespace tasuki
