// What ranks of one host say is found in the segment of the other, and only what that host may tell is taken.
#include "launch/hosts/mirror.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "job/message_fields.hpp"
#include "made_world.hpp"

namespace tasuki::launch {
namespace {

/// Two hosts of a job with a rank on each, and what goes from the one to the other.
class MirrorTest : public testing::Test {
 protected:
  MirrorTest() {
    for (int host = 0; host < 2; ++host) {
      worlds_[host] = made_world(2);
      worlds_[host]->placement = {{"a", "b"}, {0, 1}, host};
      worlds_[host]->ranks[0].here = host == 0;
      worlds_[host]->ranks[1].here = host == 1;
      mirrors_[host] = std::make_unique<Mirror>(*worlds_[host]);
    }
  }
  local::RankBlock& block(int host, int rank) { return worlds_[host]->segment.rank(rank); }
  CallBoard& board(int host, int rank) { return worlds_[host]->segment.board(rank); }
  ValueTable values(int host, int rank) {
    std::byte* const memory = local::values_of(&worlds_[host]->segment.header(), 2);
    return {memory, rank, 2,
            [this, host](int other) { return block(host, other).life.load() == local::Life::kFinalized; }};
  }
  /// Returns how many frames went.
  int carry(int from) {
    int frames = 0;
    const auto tell = [&](Frame frame, const std::string& payload) {
      ++frames;
      EXPECT_TRUE(mirrors_[1 - from]->take(frame, payload));
    };
    mirrors_[from]->tell_values(tell);
    mirrors_[from]->tell_states(tell);
    mirrors_[from]->tell_boards(tell);
    return frames;
  }

  std::array<std::unique_ptr<World>, 2> worlds_;
  std::array<std::unique_ptr<Mirror>, 2> mirrors_;
};

TEST_F(MirrorTest, ValuesAndFences) {
  ValueTable one = values(0, 0);
  ValueTable other = values(1, 1);
  std::string error;
  std::string value;
  ASSERT_TRUE(one.put("key", "from rank 0", &error));
  one.enter_fence();
  other.enter_fence();
  EXPECT_EQ(other.look_at_fence(&error), Directory::Fence::kOpen);
  carry(0);
  EXPECT_EQ(other.look_at_fence(&error), Directory::Fence::kOver);
  EXPECT_TRUE(other.get(0, "key", &value));
  EXPECT_EQ(value, "from rank 0");
  EXPECT_EQ(one.look_at_fence(&error), Directory::Fence::kOpen);
  carry(1);
  EXPECT_EQ(one.look_at_fence(&error), Directory::Fence::kOver);
  ASSERT_TRUE(one.put("second", "later", &error));
  one.enter_fence();
  carry(0);
  EXPECT_TRUE(other.get(0, "second", &value));
  EXPECT_TRUE(other.get(0, "key", &value));
}

TEST_F(MirrorTest, AnEndedRankBreaksTheFenceElsewhere) {
  ValueTable other = values(1, 1);
  other.enter_fence();
  block(0, 0).life = local::Life::kFinalized;
  std::string error;
  EXPECT_EQ(other.look_at_fence(&error), Directory::Fence::kOpen);
  carry(0);
  EXPECT_EQ(other.look_at_fence(&error), Directory::Fence::kBroken);
}

TEST_F(MirrorTest, NothingIsToldTwice) {
  carry(0);
  EXPECT_EQ(carry(0), 0);
  board(0, 0).line.moves = 5;
  EXPECT_EQ(carry(0), 1);
  EXPECT_EQ(board(1, 0).line.moves.load(), 5U);
}

TEST_F(MirrorTest, QuestionsAndReports) {
  board(1, 0).asked = 3;
  int frames = 0;
  mirrors_[1]->tell_questions([&](Frame frame, const std::string& payload) {
    ++frames;
    EXPECT_TRUE(mirrors_[0]->take(frame, payload));
  });
  EXPECT_EQ(frames, 1);
  EXPECT_EQ(board(0, 0).asked.load(), 3U);
  const auto report = std::make_unique<RankReport>();
  report->answers = 3;
  report->peer = 1;
  publish_report(*report, &board(0, 0));
  std::strcpy(board(0, 0).files[0].path, "/bin/x");
  board(0, 0).files_known = 1;
  carry(0);
  const auto read = std::make_unique<RankReport>();
  ASSERT_TRUE(read_report(board(1, 0), read.get()));
  EXPECT_EQ(read->answers, 3U);
  EXPECT_EQ(board(1, 0).files_known.load(), 1U);
  EXPECT_STREQ(board(1, 0).files[0].path, "/bin/x");
}

TEST_F(MirrorTest, WhatCannotBeRightIsNotTaken) {
  FieldWriter own;
  own.number(0);
  own.number(1);  // host 1's own rank
  own.text("12345678");
  EXPECT_FALSE(mirrors_[1]->take(Frame::kValues, own.take()));
  FieldWriter unknown;
  unknown.number(0);
  unknown.number(2);
  unknown.text("12345678");
  EXPECT_FALSE(mirrors_[1]->take(Frame::kValues, unknown.take()));
  FieldWriter huge;
  huge.number(0);
  huge.number(0);
  huge.text(std::string(100'000, 'x'));
  EXPECT_FALSE(mirrors_[1]->take(Frame::kValues, huge.take()));
  EXPECT_FALSE(mirrors_[1]->take(Frame::kBoard, "short"));
}

}  // namespace
}  // namespace tasuki::launch
