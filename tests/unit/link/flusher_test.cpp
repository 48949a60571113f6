// The helper that sends what waits while the rank computes: it is there while something waits, and no longer.
#include "link/ofi/flusher.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>

namespace tasuki::ofi {
namespace {

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

template <class Condition>
bool comes_true(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class FlusherTest : public testing::Test {
 protected:
  FlusherTest() : flusher_(gate_, [this] { return flush(); }) {}

  /// What the rank does: something waits from now on.
  bool put_off() {
    const Inside inside(gate_);
    waiting_ = true;
    return flusher_.watch();
  }
  bool waits() {
    const Inside inside(gate_);
    return waiting_;
  }

 private:
  bool flush() { return std::exchange(waiting_, false); }

  Gate gate_;
  bool waiting_ = false;  // guarded by the gate
  Flusher flusher_;
};

TEST_F(FlusherTest, TheHelperEndsWhenNothingWaitsAndComesAgain) {
  std::thread([] {}).join();  // a sanitizer may have a thread of its own from then on
  const auto before = threads();
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(put_off());
    EXPECT_TRUE(comes_true([this] { return !waits(); })) << "nobody has sent it";
    EXPECT_TRUE(comes_true([&] { return threads() == before; })) << "the helper is still there";
  }
}

TEST_F(FlusherTest, NothingIsForgottenWhileTheHelperEnds) {
  for (int pause_ms = 0; pause_ms < 40; ++pause_ms) {
    ASSERT_TRUE(put_off());
    EXPECT_TRUE(comes_true([this] { return !waits(); })) << "after a pause of " << pause_ms << " ms";
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  }
}

}  // namespace
}  // namespace tasuki::ofi
