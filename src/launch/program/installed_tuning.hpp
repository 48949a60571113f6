// The tuning table of this installation, etc/tasuki/tuning.json, which `tasuki tune --install` writes: jobs
// whose user names no other one choose by it.
#pragma once

#include <string>

namespace tasuki::launch {

struct InstalledTuning {
  enum class State {
    kAbsent,   // there is no such file
    kUsed,     // jobs choose by it
    kForeign,  // it was made for another machine or version, and is not used
    kBad,      // it cannot be read, or has a mistake, and is not used
  };
  State state = State::kAbsent;
  std::string path;
  std::string text;    // kUsed: what it holds
  std::string reason;  // kForeign, kBad: one line
};

InstalledTuning read_installed_tuning(bool foreign_allowed);

}  // namespace tasuki::launch
