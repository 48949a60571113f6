// Where the table of mpiexec --top stands on a terminal: on a screen of its own, or below what a program
// writes there. Pure: gives the text to be written; knows nothing of descriptors.
//
// Below a program the terminal scrolls only the lines above the table (DECSTBM). So the program's output goes
// to the terminal as it is, and need not be known here. Nothing is remembered of the terminal but its size:
// each picture says all of it again, and so repairs what a program that clears the screen has done.
#pragma once

#include <string>
#include <vector>

namespace tasuki::launch {

class TopScreen {
 public:
  enum class Place { kWhole, kBelow };
  struct Size {
    int rows = 24;
    int columns = 80;
    bool operator==(const Size&) const = default;
  };

  explicit TopScreen(Place place) : place_(place) {}

  /// How many lines there is room for on a terminal of that size; 0: too few for a table.
  int height(Size size) const;

  /// Puts the lines there, height() at most and each no wider than the terminal.
  std::string show(const std::vector<std::string>& lines, Size size);

  /// Takes them away, and leaves the terminal as it was; nothing when nothing is shown.
  std::string leave();

  bool shown() const { return shown_ > 0; }

 private:
  std::string begin_below(int lines, Size size);

  const Place place_;
  int shown_ = 0;  // lines
  Size size_;
};

/// The terminal's size at `fd`, or that of a common one where it is unknown.
TopScreen::Size terminal_size(int fd);

}  // namespace tasuki::launch
