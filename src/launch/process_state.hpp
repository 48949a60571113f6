// What the kernel tells of a process: /proc/PID/stat.
#pragma once

#include <string_view>

namespace tasuki::launch {

struct ProcessState {
  char letter = 0;  // R, S, D, T (stopped), t (a debugger holds it), Z (ended, not reaped) …; 0: none such
  int parent = 0;   // process; 0: unknown
  int wait_status = -1;  // of a process that has ended, as of waitpid; -1: it has not, or that is not told

  bool stopped() const { return letter == 'T' || letter == 't'; }
  bool ended() const { return letter == 0 || letter == 'Z' || letter == 'X'; }
};

ProcessState state_of_process(int pid);

/// Of the text of such a file. Pure.
ProcessState parse_process_state(std::string_view text);

}  // namespace tasuki::launch
