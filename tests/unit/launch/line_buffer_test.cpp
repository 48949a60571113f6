// A rank's output is given out as whole lines, however it was cut when it was written.
#include "launch/stream/line_buffer.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace tasuki::launch {
namespace {

TEST(LineBuffer, HoldsBackAnUnfinishedLine) {
  LineBuffer lines;
  lines.add("one\ntwo\nthr");
  EXPECT_EQ(lines.available(), "one\ntwo\n");
  lines.consume(8);
  EXPECT_EQ(lines.available(), "");
  EXPECT_EQ(lines.all(), "thr");
  lines.add("ee\n");
  EXPECT_EQ(lines.available(), "three\n");
}

TEST(LineBuffer, GivesOutALongPart) {
  LineBuffer lines;
  lines.add("x\n" + std::string(LineBuffer::kPartBytesMax - 1, 'a'));
  EXPECT_EQ(lines.available(), "x\n");
  lines.add("b");
  EXPECT_EQ(lines.available().size(), LineBuffer::kPartBytesMax + 2);
}

TEST(LineBuffer, LosesNothingAtAnyCut) {
  std::mt19937 random(1);
  std::string text;
  for (int line = 0; line < 200; ++line) text += std::string(random() % 120, 'a' + line % 26) + "\n";
  LineBuffer lines;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t count = std::min<std::size_t>(1 + random() % 90, text.size() - at);
    lines.add(std::string_view(text).substr(at, count));
    at += count;
    const std::string_view ready = lines.available();
    EXPECT_TRUE(ready.empty() || ready.back() == '\n');
    out += ready;
    lines.consume(ready.size());
  }
  EXPECT_EQ(out, text);
  EXPECT_TRUE(lines.empty());
}

TEST(Labels, StandBeforeEveryLine) {
  EXPECT_EQ(with_labels("a\n\nb\n", "[1] ", false), "[1] a\n[1] \n[1] b\n");
  EXPECT_EQ(with_labels("part", "[1] ", false), "[1] part");
  EXPECT_EQ(with_labels("rest\nnext\n", "[1] ", true), "rest\n[1] next\n");
  EXPECT_EQ(with_labels("", "[1] ", false), "");
}

}  // namespace
}  // namespace tasuki::launch
