// The third field, the fourth and the last one.
#include "launch/process_state.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

namespace tasuki::launch {
namespace {

/// The number at the beginning of a text; `otherwise` where there is none.
int number_at(std::string_view text, int otherwise) {
  int number = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? number : otherwise;
}

}  // namespace

ProcessState parse_process_state(std::string_view text) {
  ProcessState state;
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return state;
  state.letter = text[name_end + 2];
  if (name_end + 4 < text.size()) state.parent = number_at(text.substr(name_end + 4), 0);
  const bool over = state.letter == 'Z' || state.letter == 'X';
  const std::size_t blank = text.rfind(' ');
  if (over && blank > name_end + 4) state.wait_status = number_at(text.substr(blank + 1), -1);
  return state;
}

ProcessState state_of_process(int pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char text[1024];
  const ssize_t length = read(fd, text, sizeof text);
  close(fd);
  return length > 0 ? parse_process_state({text, static_cast<std::size_t>(length)}) : ProcessState{};
}

}  // namespace tasuki::launch
