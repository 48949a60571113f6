// The gate: the thread that closes it is alone inside until it opens.
#include "heap/gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tasuki::heap {
namespace {

std::atomic<int> threads_ended{0};

void count_end() {
  ++threads_ended;
}

TEST(Gate, LetsNobodyInWhileItIsClosed) {
  ASSERT_TRUE(prepare_gate(count_end));
  constexpr int kThreads = 3;
  std::atomic<bool> done{false};
  std::atomic<int> inside{0};
  std::atomic<long> visits{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (!done.load()) {
        const Inside here;
        ++inside;
        ++visits;
        --inside;
      }
    });
  }
  for (int round = 0; round < 30; ++round) {
    const long before = visits.load();
    while (visits.load() == before) std::this_thread::yield();
    close_gate();
    if (round % 2 == 0) keep_gate_closed();
    const long closed = visits.load();
    ASSERT_EQ(inside.load(), 0);
    { const Inside own; }  // the thread that closed it goes in and out
    for (int i = 0; i < 3; ++i) std::this_thread::yield();
    ASSERT_EQ(visits.load(), closed);
    open_gate();
  }
  done.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(threads_ended.load(), kThreads);
  close_gate();  // no thread that has ended is waited for
  open_gate();
}

}  // namespace
}  // namespace tasuki::heap
