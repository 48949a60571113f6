// Frames through pipes: whole, in order, behind whatever a shell prints first.
#include "launch/hosts/channel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tasuki::launch {
namespace {

struct User final : ChannelUser {
  void take_frame(Frame frame, std::string_view payload) override { frames.emplace_back(frame, payload); }
  void channel_ended() override { ++ends; }
  std::vector<std::pair<Frame, std::string>> frames;
  int ends = 0;
};

class ChannelTest : public testing::Test {
 protected:
  ChannelTest() {
    EXPECT_EQ(pipe2(down_, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(up_, O_CLOEXEC), 0);
    signal(SIGPIPE, SIG_IGN);
  }
  void make_both() {
    one_ = std::make_unique<Channel>(loop_, up_[0], down_[1], one_user_);
    other_ = std::make_unique<Channel>(loop_, down_[0], up_[1], other_user_);
  }
  void run() {
    for (int turn = 0; turn < 200; ++turn) loop_.run_once(0);
  }

  EventLoop loop_;
  int down_[2];
  int up_[2];
  User one_user_;
  User other_user_;
  std::unique_ptr<Channel> one_;
  std::unique_ptr<Channel> other_;
};

TEST_F(ChannelTest, FramesComeWholeAndInOrder) {
  make_both();
  one_->greet();
  const std::string large(3 << 20, 'x');  // more than a pipe holds
  one_->send(Frame::kInput, "small");
  one_->send(Frame::kInput, large);
  one_->send(Frame::kOver);
  run();
  ASSERT_EQ(other_user_.frames.size(), 3U);
  EXPECT_EQ(other_user_.frames[0].second, "small");
  EXPECT_TRUE(other_user_.frames[1].second == large);
  EXPECT_EQ(other_user_.frames[2].first, Frame::kOver);
  EXPECT_EQ(one_->waiting_bytes(), 0U);
}

TEST_F(ChannelTest, AShellsWordsAreNoFrames) {
  const std::string words = "Welcome to node7!\n\001tasuki, as they say\n";
  ASSERT_EQ(write(up_[1], words.data(), words.size()), static_cast<ssize_t>(words.size()));
  make_both();
  other_->greet();
  other_->send(Frame::kSettled);
  run();
  ASSERT_EQ(one_user_.frames.size(), 1U);
  EXPECT_EQ(one_->preamble(), words);
}

TEST_F(ChannelTest, TheEndComesAfterTheLastFrameAndOnce) {
  make_both();
  other_->greet();
  other_->send(Frame::kSettled);
  other_->close();
  run();
  EXPECT_EQ(one_user_.frames.size(), 1U);
  EXPECT_EQ(one_user_.ends, 1);
  one_->send(Frame::kOver);  // goes nowhere
  run();
  EXPECT_EQ(one_user_.ends, 1);
}

TEST_F(ChannelTest, WhatIsNoFrameEndsIt) {
  make_both();
  other_->greet();
  run();
  const std::uint32_t bad[] = {8, 999, 1, 2};
  ASSERT_EQ(write(up_[1], bad, sizeof bad), static_cast<ssize_t>(sizeof bad));
  run();
  EXPECT_EQ(one_user_.ends, 1);
  EXPECT_TRUE(one_user_.frames.empty());
}

TEST_F(ChannelTest, AliveIsSaidWhenNothingElseIs) {
  make_both();
  other_->greet();
  const std::int64_t later_ns = other_->last_heard_ns() + 1'500'000'000;
  other_->keep_alive(later_ns);
  const std::int64_t heard_ns = one_->last_heard_ns();
  run();
  EXPECT_GT(one_->last_heard_ns(), heard_ns);
  EXPECT_TRUE(one_user_.frames.empty()) << "it is no news";
}

}  // namespace
}  // namespace tasuki::launch
