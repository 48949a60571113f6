// The file of hints that a site or a user gives beside the program's: the one named by ROMIO_HINTS, else
// /etc/romio-hints where there is one. Each line is a key and a value; a # begins a comment.
//
// Whatever the file is, a job goes on: what is wrong with it is one line of warning each, once.
//
// Thread safety: the process lock.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tasuki {

using HintList = std::vector<std::pair<std::string, std::string>>;

/// The hints of `text`, in its order; a key that comes again replaces the earlier one. `warnings` gets one
/// line for each line that is none, and for each value that its hint does not take: 'name:number: …'.
HintList parse_system_hints(const std::string& text, const std::string& name,
                            std::vector<std::string>* warnings);

/// What a process has read of such files: the last one, so that files that are opened often cost one look.
class SystemHints {
 public:
  /// Reads the file if it is another one than last time, and writes the warnings to standard error.
  const HintList& hints();

 private:
  bool read_ = false;
  std::string name_;
  HintList hints_;
};

}  // namespace tasuki
