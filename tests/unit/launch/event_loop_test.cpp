// One whose descriptor was removed is not called, although it was ready at the same time: it may be gone.
#include "launch/base/event_loop.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <memory>

namespace tasuki::launch {
namespace {

/// A pipe that has something to be read.
class Full final : public Ready {
 public:
  Full(EventLoop& loop, std::function<void()> when_ready) : loop_(loop), when_ready_(std::move(when_ready)) {
    EXPECT_EQ(pipe(ends_.data()), 0);
    EXPECT_EQ(write(ends_[1], "x", 1), 1);
    EXPECT_TRUE(loop_.add_readable(ends_[0], this));
  }
  ~Full() {
    loop_.remove(ends_[0]);
    close(ends_[0]);
    close(ends_[1]);
  }
  void ready() override { when_ready_(); }

 private:
  EventLoop& loop_;
  std::function<void()> when_ready_;
  std::array<int, 2> ends_{};
};

TEST(EventLoop, WhatIsRemovedIsNotCalled) {
  EventLoop loop;
  std::unique_ptr<Full> one;
  std::unique_ptr<Full> other;
  int calls = 0;
  one = std::make_unique<Full>(loop, [&] {
    ++calls;
    other.reset();
  });
  other = std::make_unique<Full>(loop, [&] {
    ++calls;
    one.reset();
  });
  loop.run_once(0);
  EXPECT_EQ(calls, 1);
  EXPECT_NE(one == nullptr, other == nullptr);
}

TEST(EventLoop, ALoopWithinALoop) {
  EventLoop loop;
  int calls = 0;
  std::unique_ptr<Full> other;
  Full one(loop, [&] {
    if (++calls > 1) return;
    loop.run_once(0);
    other.reset();
  });
  other = std::make_unique<Full>(loop, [&calls] { calls += 10; });
  loop.run_once(0);
  EXPECT_EQ(calls % 10, 2);
  EXPECT_GE(calls, 12) << "the other one, before it went";
}

}  // namespace
}  // namespace tasuki::launch
