// What is written to a terminal is looked at by a small terminal of our own.
#include "launch/top/top_screen.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace tasuki::launch {
namespace {

/// Knows what the table uses, and fails the test on anything else.
class Terminal {
 public:
  Terminal(int rows, int columns)
      : columns_(columns), lines_(static_cast<std::size_t>(rows)), bottom_(rows) {}

  void write(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] == '\033') {
        at = escape(text, at + 1);
      } else {
        letter(text[at++]);
      }
    }
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> trimmed = lines_;
    for (std::string& line : trimmed) line.resize(line.find_last_not_of(' ') + 1);
    return trimmed;
  }
  int row() const { return row_; }
  int column() const { return column_; }
  bool scrolls_all() const { return bottom_ == rows(); }
  bool own_screen() const { return own_screen_; }
  bool cursor() const { return cursor_; }

 private:
  int rows() const { return static_cast<int>(lines_.size()); }

  void letter(char character) {
    if (character == '\n') return down();
    if (character == '\r') {
      column_ = 0;
      return;
    }
    std::string& line = lines_[static_cast<std::size_t>(row_)];
    line.resize(std::max(line.size(), static_cast<std::size_t>(column_) + 1), ' ');
    line[static_cast<std::size_t>(column_)] = character;
    column_ = std::min(column_ + 1, columns_ - 1);
  }

  void down() {
    if (row_ + 1 == bottom_) {
      lines_.erase(lines_.begin());
      lines_.insert(lines_.begin() + bottom_ - 1, std::string());
    } else {
      row_ = std::min(row_ + 1, rows() - 1);
    }
  }

  std::size_t escape(const std::string& text, std::size_t at) {
    switch (text[at]) {
      case '7':
        kept_row_ = row_;
        kept_column_ = column_;
        return at + 1;
      case '8':
        row_ = kept_row_;
        column_ = kept_column_;
        return at + 1;
      case 'D':
        down();
        return at + 1;
      case '[':
        break;
      default:
        ADD_FAILURE() << "ESC " << text[at];
        return at + 1;
    }
    const std::size_t end = text.find_first_not_of("0123456789;?", at + 1);
    control(text.substr(at + 1, end - at - 1), text[end]);
    return end + 1;
  }

  void control(const std::string& numbers, char command) {
    const int first = std::atoi(numbers.c_str());
    const std::size_t semicolon = numbers.find(';');
    const int second = semicolon == std::string::npos ? 0 : std::atoi(numbers.c_str() + semicolon + 1);
    std::string& line = lines_[static_cast<std::size_t>(row_)];
    if (command == 'H') {
      row_ = std::clamp(first, 1, rows()) - 1;
      column_ = std::max(second, 1) - 1;
    } else if (command == 'A') {
      row_ = std::max(0, row_ - std::max(1, first));
    } else if (command == 'r') {
      EXPECT_LE(first, 1);
      bottom_ = second > 0 ? second : rows();
      row_ = column_ = 0;
    } else if (command == 'K' || command == 'J') {
      line.resize(std::min(line.size(), static_cast<std::size_t>(column_)));
      for (int below = row_ + 1; command == 'J' && below < rows(); ++below) {
        lines_[static_cast<std::size_t>(below)].clear();
      }
    } else if (numbers == "?1049" && (command == 'h' || command == 'l')) {
      own_screen_ = command == 'h';
    } else if (numbers == "?25" && (command == 'h' || command == 'l')) {
      cursor_ = command == 'h';
    } else {
      EXPECT_EQ(command, 'm') << numbers;
    }
  }

  const int columns_;
  std::vector<std::string> lines_;
  int bottom_;  // of the lines that scroll
  int row_ = 0;
  int column_ = 0;
  int kept_row_ = 0;
  int kept_column_ = 0;
  bool own_screen_ = false;
  bool cursor_ = true;
};

using Lines = std::vector<std::string>;

TEST(TopScreen, AWholeScreenIsGivenBack) {
  Terminal terminal(6, 40);
  TopScreen screen(TopScreen::Place::kWhole);
  EXPECT_EQ(screen.height({6, 40}), 6);
  EXPECT_EQ(screen.leave(), "");
  terminal.write(screen.show({"one", "two is long", "three"}, {6, 40}));
  EXPECT_TRUE(terminal.own_screen());
  EXPECT_FALSE(terminal.cursor());
  EXPECT_EQ(terminal.lines(), (Lines{"one", "two is long", "three", "", "", ""}));
  terminal.write(screen.show({"one", "two"}, {6, 40}));
  EXPECT_EQ(terminal.lines(), (Lines{"one", "two", "", "", "", ""}));
  terminal.write(screen.leave());
  EXPECT_FALSE(terminal.own_screen());
  EXPECT_TRUE(terminal.cursor());
  EXPECT_EQ(screen.leave(), "");
}

TEST(TopScreen, BelowAProgramItsOutputScrolls) {
  Terminal terminal(10, 40);
  TopScreen screen(TopScreen::Place::kBelow);
  terminal.write("$ mpiexec\r\n");
  terminal.write(screen.show({"title", "rank", "0"}, {10, 40}));
  EXPECT_EQ(terminal.lines(), (Lines{"$ mpiexec", "", "", "", "", "", "", "title", "rank", "0"}));
  EXPECT_EQ(terminal.row(), 1);
  for (int line = 0; line < 8; ++line) terminal.write("line " + std::to_string(line) + "\r\n");
  EXPECT_EQ(terminal.lines(),
            (Lines{"line 2", "line 3", "line 4", "line 5", "line 6", "line 7", "", "title", "rank", "0"}));
  terminal.write("part");
  terminal.write(screen.show({"title", "RANK", "1"}, {10, 40}));
  terminal.write(" of a line\r\n");
  EXPECT_EQ(terminal.lines(), (Lines{"line 3", "line 4", "line 5", "line 6", "line 7", "part of a line", "",
                                     "title", "RANK", "1"}));
  terminal.write(screen.leave());
  EXPECT_EQ(terminal.lines(),
            (Lines{"line 3", "line 4", "line 5", "line 6", "line 7", "part of a line", "", "", "", ""}));
  EXPECT_EQ(terminal.row(), 6);
  EXPECT_EQ(terminal.column(), 0);
  EXPECT_TRUE(terminal.scrolls_all());
}

TEST(TopScreen, MakesRoomAtTheEndOfTheScreen) {
  Terminal terminal(8, 40);
  TopScreen screen(TopScreen::Place::kBelow);
  for (int line = 0; line < 10; ++line) terminal.write("line " + std::to_string(line) + "\r\n");
  terminal.write("part");
  terminal.write(screen.show({"title", "rank", "0"}, {8, 40}));
  EXPECT_EQ(terminal.lines(), (Lines{"line 6", "line 7", "line 8", "line 9", "part", "title", "rank", "0"}));
  EXPECT_EQ(terminal.row(), 4);
  EXPECT_EQ(terminal.column(), 4);
}

TEST(TopScreen, FollowsTheNumberOfLinesAndTheSize) {
  Terminal terminal(12, 40);
  TopScreen screen(TopScreen::Place::kBelow);
  terminal.write("output\r\n");
  terminal.write(screen.show({"title", "rank", "0"}, {12, 40}));
  terminal.write(screen.show({"title", "rank", "0", "1", "2"}, {12, 40}));
  EXPECT_EQ(terminal.lines(), (Lines{"output", "", "", "", "", "", "", "title", "rank", "0", "1", "2"}));
  terminal.write(screen.show({"title", "rank", "0"}, {12, 40}));
  EXPECT_EQ(terminal.lines(), (Lines{"output", "", "", "", "", "", "", "", "", "title", "rank", "0"}));

  Terminal smaller(9, 30);  // as after a change of size: what there was is not known
  smaller.write("output\r\n");
  smaller.write(screen.show({"title", "rank", "0"}, {9, 30}));
  EXPECT_EQ(smaller.lines(), (Lines{"output", "", "", "", "", "", "title", "rank", "0"}));
  EXPECT_EQ(smaller.row(), 1);
}

TEST(TopScreen, NoLinesLeave) {
  Terminal terminal(10, 40);
  TopScreen screen(TopScreen::Place::kBelow);
  terminal.write("output\r\n");
  terminal.write(screen.show({"title", "rank", "0"}, {10, 40}));
  terminal.write(screen.show({}, {10, 40}));
  EXPECT_FALSE(screen.shown());
  EXPECT_TRUE(terminal.scrolls_all());
  EXPECT_EQ(terminal.lines()[9], "");
  EXPECT_EQ(terminal.row(), 1);
}

TEST(TopScreen, LeavesTheProgramRoom) {
  const TopScreen below(TopScreen::Place::kBelow);
  EXPECT_EQ(below.height({50, 80}), 25);
  EXPECT_EQ(below.height({24, 80}), 12);
  EXPECT_EQ(below.height({7, 80}), 3);
  EXPECT_EQ(below.height({6, 80}), 0);
  EXPECT_EQ(below.height({1, 80}), 0);
}

}  // namespace
}  // namespace tasuki::launch
