// The fields of /proc/PID/stat are numbered from 1 on, as in proc(5).
#include "base/system/process_state.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>

namespace tasuki {
namespace {

constexpr int kParentField = 4, kFlagsField = 9, kThreadsField = 20, kStartField = 22;

/// The number at the beginning of a text; `otherwise` where there is none.
template <class Number>
Number number_at(std::string_view text, Number otherwise) {
  Number number = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? number : otherwise;
}

/// Where a field begins in what follows the name; at its end where there is none.
std::string_view field(std::string_view after_name, int wanted) {
  std::size_t at = 0;  // the blank before field 3
  for (int number = 3; number < wanted; ++number) {
    at = after_name.find(' ', at + 1);
    if (at == std::string_view::npos) return {};
  }
  return at + 1 < after_name.size() ? after_name.substr(at + 1) : std::string_view{};
}

}  // namespace

ProcessState parse_process_state(std::string_view text) {
  ProcessState state;
  const std::size_t name_begin = text.find('(');
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_begin == std::string_view::npos || name_end == std::string_view::npos || name_begin > name_end ||
      name_end + 2 >= text.size())
    return state;
  const std::string_view rest = text.substr(name_end + 1);
  state.letter = rest[1];
  state.name = text.substr(name_begin + 1, name_end - name_begin - 1);
  state.parent = number_at(field(rest, kParentField), 0);
  state.flags = number_at(field(rest, kFlagsField), 0U);
  state.threads = number_at(field(rest, kThreadsField), 0);
  state.start_ticks = number_at(field(rest, kStartField), std::uint64_t{0});
  const std::size_t blank = rest.rfind(' ');
  if (state.ended() && blank > 2) state.wait_status = number_at(rest.substr(blank + 1), -1);
  return state;
}

ProcessState state_of_process(int pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  char text[1024];
  const ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text);
  if (fd >= 0) close(fd);
  if (length > 0) return parse_process_state({text, static_cast<std::size_t>(length)});
  ProcessState state;
  if (kill(pid, 0) != 0 && errno == ESRCH) state.letter = ProcessState::kNone;
  return state;
}

std::uint64_t own_numbering() {
  std::uint64_t numbering = 0;
  for (const char* file : {"/proc/self/ns/pid", "/proc/self/ns/time"}) {
    struct stat info {};
    if (stat(file, &info) == 0) numbering = numbering << 32 ^ info.st_ino;
  }
  return numbering;
}

ProcessIdentity ProcessIdentity::own() {
  const int pid = getpid();
  return {.pid = pid, .start_ticks = state_of_process(pid).start_ticks, .numbering = own_numbering()};
}

bool has_ended(const ProcessIdentity& process, std::uint64_t numbering, bool or_is_about_to) {
  if (process.pid <= 0 || process.numbering != numbering) return false;
  const ProcessState state = state_of_process(process.pid);
  const bool is_another =
      state.known() && process.start_ticks != 0 && state.start_ticks != process.start_ticks;
  return is_another || (or_is_about_to ? state.exiting() : state.ended());
}

}  // namespace tasuki
