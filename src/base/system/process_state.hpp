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
  int threads = 0;                // that have not ended, the first one in any case; 0: unknown
  int wait_status = -1;           // of one that has ended, as of waitpid; -1: it has not, or it is not known

  bool known() const { return letter != kNone && letter != kUnknown; }
  bool stopped() const { return letter == 'T' || letter == 't'; }
  /// The letter is that of the first thread, which others may outlive.
  bool ended() const { return letter == kNone || ((letter == 'Z' || letter == 'X') && threads <= 1); }
  /// Has ended or is about to: the kernel has begun to take it apart, its files first.
  bool exiting() const { return ended() || (flags & 4) != 0; }  // PF_EXITING
};

ProcessState state_of_process(int pid);

/// One process for good, as it tells others that may ask about it.
struct ProcessIdentity {
  std::int32_t pid = 0;           // 0: of no process
  std::uint64_t start_ticks = 0;  // of its ProcessState; 0: unknown
  std::uint64_t numbering = 0;    // where the two mean this process; 0: unknown

  static ProcessIdentity own();
};

/// Whether it has ended for certain; `is_about_to`: or the kernel has begun to take it apart. False where the
/// process that asks, which numbers processes by `numbering`, cannot know.
bool has_ended(const ProcessIdentity& process, std::uint64_t numbering, bool or_is_about_to = false);

/// By what this process numbers others: the same number in all that have its namespaces of process numbers
/// and of time. 0: unknown.
std::uint64_t own_numbering();

/// Of the text of such a file. Pure.
ProcessState parse_process_state(std::string_view text);

}  // namespace tasuki
