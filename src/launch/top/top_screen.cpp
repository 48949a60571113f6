// Escape sequences that every terminal of the last forty years knows.
#include "launch/top/top_screen.hpp"

#include <sys/ioctl.h>

#include <algorithm>

#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

constexpr const char* kOwnScreen = "\033[?1049h\033[?25l";  // and no cursor
constexpr const char* kUsualScreen = "\033[?25h\033[?1049l";
constexpr const char* kKeepCursor = "\0337";  // with its colours
constexpr const char* kTakeCursor = "\0338";
constexpr const char* kPlain = "\033[0m";
constexpr const char* kScrollAll = "\033[r";  // the cursor goes elsewhere
constexpr const char* kDown = "\033D";        // in the same column; scrolls at the end
constexpr const char* kClearLine = "\033[K";  // from the cursor on
constexpr const char* kClearBelow = "\033[J";

constexpr int kRowsOfProgramMin = 4;
constexpr int kLinesMin = 3;

}  // namespace

int TopScreen::height(Size size) const {
  if (place_ == Place::kWhole) return size.rows;
  const int lines = std::min(std::max(kLinesMin, size.rows / 2), size.rows - kRowsOfProgramMin);
  return lines >= kLinesMin ? lines : 0;
}

std::string TopScreen::show(const std::vector<std::string>& lines, Size size) {
  const int count = static_cast<int>(lines.size());
  if (count == 0) return leave();
  std::string text;
  if (place_ == Place::kWhole) {
    if (shown_ == 0) text += kOwnScreen;
    text += "\033[H";
    for (int line = 0; line < count; ++line) {
      text += lines[static_cast<std::size_t>(line)] + kClearLine + (line + 1 < count ? "\r\n" : "");
    }
    text += kClearBelow;
  } else {
    if (count != shown_ || size != size_) text += begin_below(count, size);
    text += format("%s%s\033[1;%dr", kKeepCursor, kPlain, size.rows - count);
    for (int line = 0; line < count; ++line) {
      text += format("\033[%d;1H", size.rows - count + 1 + line) + lines[static_cast<std::size_t>(line)] +
              kClearLine;
    }
    text += kTakeCursor;
  }
  shown_ = count;
  size_ = size;
  return text;
}

/// Makes room: the cursor stays in its line and column, and has the table's lines below it.
std::string TopScreen::begin_below(int lines, Size size) {
  std::string text = leave();
  const int room = std::min(lines, size.rows - 1);
  for (int line = 0; line < room; ++line) text += kDown;
  return text + format("\033[%dA", room);
}

std::string TopScreen::leave() {
  if (shown_ == 0) return {};
  shown_ = 0;
  if (place_ == Place::kWhole) return kUsualScreen;
  // What is below the cursor is the table: the program has never been there.
  return std::string(kKeepCursor) + kScrollAll + kTakeCursor + kClearBelow;
}

TopScreen::Size terminal_size(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {size.ws_row, size.ws_col};
}

}  // namespace tasuki::launch
