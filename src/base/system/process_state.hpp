// The state of a process as the kernel shows it: /proc/PID/stat.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tasuki {

struct ProcessState {
  static constexpr char kNone = 0;       // of `letter`: there is no such process
  static constexpr char kUnknown = '?';  // not known: no /proc, no descriptor left, or no permission

  char letter = kUnknown;  // R, S, D, T (stopped), t (a debugger holds it), Z (ended, not reaped), X …
  std::string name;        // of the program, at most 15 bytes
  int parent = 0;          // process; 0: unknown
  unsigned flags = 0;      // PF_…
  std::uint64_t start_ticks = 0;  // since the machine started; with the number it means one process for good
  int wait_status = -1;           // of one that has ended, as of waitpid; -1: it has not, or it is not known

  bool known() const { return letter != kNone && letter != kUnknown; }
  bool stopped() const { return letter == 'T' || letter == 't'; }
  bool ended() const { return letter == kNone || letter == 'Z' || letter == 'X'; }
  /// Has ended or is about to: the kernel has begun to take it apart, its files first.
  bool exiting() const { return ended() || (flags & 4) != 0; }  // PF_EXITING
};

ProcessState state_of_process(int pid);

/// Of the text of such a file. Pure.
ProcessState parse_process_state(std::string_view text);

}  // namespace tasuki
