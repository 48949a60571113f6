// Messages between the lines of ranks.
#include "launch/stream/console.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/system/clock.hpp"
#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

constexpr std::int64_t kHurriedFlushNs = 300'000'000;

/// Whether both descriptors lead to one file, pipe or terminal.
bool is_one_place(int one, int other) {
  struct stat first {};
  struct stat second {};
  return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

Console::Console(EventLoop& loop, int output_fd, int error_fd)
    : loop_(loop),
      output_(loop, output_fd, "standard output"),
      error_(loop, error_fd, "standard error"),
      one_place_(is_one_place(output_fd, error_fd)),
      terminal_(loop) {}

/// Never in the middle of a rank's line, be it one of its standard output, where both go to one place.
void Console::say(const std::string& message) {
  const bool cuts =
      error_.open_line_owner() != nullptr || (one_place_ && output_.open_line_owner() != nullptr);
  error_.write((cuts ? "\n" : "") + message + "\n");
  error_.note_whole_line();
  if (one_place_) output_.note_whole_line();
}

void Console::print(const std::string& document) {
  output_.write((output_.open_line_owner() != nullptr ? "\n" : "") + document);
  output_.note_whole_line();
}

bool Console::reader_gone() const {
  return output_.error() == EPIPE;
}

bool Console::say_loss() {
  if (loss_said_ || !output_.broken() || reader_gone()) return false;
  loss_said_ = true;
  say(format("mpiexec: cannot write %s: %s", output_.name(), strerror(output_.error())));
  return true;
}

void Console::flush(bool hurry) {
  const std::int64_t limit_ns = clock_ns() + kHurriedFlushNs;
  while (!idle() && !(hurry && clock_ns() >= limit_ns)) {
    loop_.run_once(hurry ? static_cast<int>(kHurriedFlushNs / 1'000'000) : -1);
  }
}

}  // namespace tasuki::launch
