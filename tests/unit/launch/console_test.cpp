// mpiexec's own messages among the lines of ranks.
#include "launch/stream/console.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "made_world.hpp"

namespace tasuki::launch {
namespace {

TEST(Console, AMessageDoesNotCutALine) {
  EventLoop loop;
  Printed printed(loop);
  int rank = 0;
  printed.console.error().write_part("half a li", &rank);
  printed.console.say("mpiexec: a message");
  printed.console.say("mpiexec: another");
  EXPECT_EQ(printed.error(), "half a li\nmpiexec: a message\nmpiexec: another\n");
}

TEST(Console, OutputOfItsOwnPlaceIsNotInTheWay) {
  EventLoop loop;
  Printed printed(loop);
  int rank = 0;
  printed.console.output().write_part("half a li", &rank);
  printed.console.say("mpiexec: a message");
  printed.console.print("{}\n");
  EXPECT_EQ(printed.error(), "mpiexec: a message\n");
  EXPECT_EQ(printed.output(), "half a li\n{}\n");
}

TEST(Console, BothInOnePlaceAreOneText) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Console console(loop, ends[1], ends[1]);
  int rank = 0;
  console.output().write_part("half a li", &rank);
  console.say("mpiexec: a message");
  console.flush(false);
  char text[64] = "";
  EXPECT_GT(read(ends[0], text, sizeof text - 1), 0);
  EXPECT_STREQ(text, "half a li\nmpiexec: a message\n");
  close(ends[0]);
  close(ends[1]);
}

TEST(Console, SaysOnceThatADiskIsFull) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "no /dev/full here";
  Console console(loop, full, ends[1]);
  EXPECT_FALSE(console.say_loss());
  console.print("a document\n");
  EXPECT_FALSE(console.reader_gone());
  EXPECT_TRUE(console.say_loss());
  EXPECT_FALSE(console.say_loss());
  char text[128] = "";
  EXPECT_GT(read(ends[0], text, sizeof text - 1), 0);
  EXPECT_STREQ(text, "mpiexec: cannot write standard output: No space left on device\n");
  close(full);
  close(ends[0]);
  close(ends[1]);
}

TEST(Console, AReaderThatLeavesIsNoLoss) {
  const auto before = signal(SIGPIPE, SIG_IGN);
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Console console(loop, ends[1], STDERR_FILENO);
  close(ends[0]);
  console.print("a document\n");
  EXPECT_TRUE(console.reader_gone());
  EXPECT_FALSE(console.say_loss());
  close(ends[1]);
  signal(SIGPIPE, before);
}

}  // namespace
}  // namespace tasuki::launch
