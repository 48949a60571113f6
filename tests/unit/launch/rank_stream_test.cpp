// A rank's output on its way through mpiexec: whole lines, labels, and what is read when.
#include "launch/stream/rank_stream.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "base/system/clock.hpp"
#include "made_world.hpp"

namespace tasuki::launch {
namespace {

/// A rank's end of a pipe, and the stream that reads the other.
class Output {
 public:
  Output(EventLoop& loop, OutputSink& sink, const std::string& label) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    stream = std::make_unique<RankStream>(loop, ends[0], sink, label);
    rank_ = ends[1];
  }
  ~Output() { end(); }
  void write(const std::string& text) const {
    EXPECT_EQ(::write(rank_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() {
    if (rank_ >= 0) close(rank_);
    rank_ = -1;
  }
  std::unique_ptr<RankStream> stream;

 private:
  int rank_ = -1;
};

class RankStreamTest : public testing::Test {
 protected:
  EventLoop loop_;
  Printed printed_{loop_};
};

TEST_F(RankStreamTest, GivesOutWholeLines) {
  Output rank(loop_, printed_.console.output(), "");
  rank.write("one\ntw");
  loop_.run_once(1000);
  EXPECT_EQ(printed_.output(), "one\n");
  EXPECT_GT(rank.stream->part_due_ns(), clock_ns() - 1);
  rank.write("o\n");
  loop_.run_once(1000);
  EXPECT_EQ(printed_.output(), "one\ntwo\n");
  EXPECT_EQ(rank.stream->part_due_ns(), 0);
}

TEST_F(RankStreamTest, LabelsOpenEachLineOnce) {
  Output one(loop_, printed_.console.output(), "[0] ");
  Output other(loop_, printed_.console.output(), "[1] ");
  one.write("a prompt? ");
  loop_.run_once(1000);
  one.stream->give_out_part();
  one.write("yes ");
  loop_.run_once(1000);
  one.stream->give_out_part();
  other.write("a line\n");
  loop_.run_once(1000);
  EXPECT_EQ(printed_.output(), "[0] a prompt? yes \n[1] a line\n");
}

TEST_F(RankStreamTest, AnUnfinishedLineComesAtTheEnd) {
  Output rank(loop_, printed_.console.output(), "");
  rank.write("no end");
  rank.end();
  while (rank.stream->open()) loop_.run_once(1000);
  EXPECT_EQ(printed_.output(), "no end");
  EXPECT_NE(printed_.console.output().open_line_owner(), nullptr);
}

TEST_F(RankStreamTest, FinishTakesWhatIsThereAndCloses) {
  Output rank(loop_, printed_.console.output(), "");
  rank.write("some\nmore");
  rank.stream->finish();
  EXPECT_FALSE(rank.stream->open());
  EXPECT_EQ(printed_.output(), "some\nmore");
}

}  // namespace
}  // namespace tasuki::launch
