// The third field and the last one.
#include "launch/process_state.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

namespace tasuki::launch {

ProcessState parse_process_state(std::string_view text) {
  ProcessState state;
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return state;
  state.letter = text[name_end + 2];
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (state.letter != 'Z' && state.letter != 'X') return state;
  const std::size_t blank = text.rfind(' ');
  int status = 0;
  const auto [end, error] = std::from_chars(text.data() + blank + 1, text.data() + text.size(), status);
  if (error == std::errc() && end == text.data() + text.size()) state.wait_status = status;
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
