// Runs something in a process of its own, which may end in any way, and tells how it did.
#pragma once

#include <functional>
#include <string>

namespace tasuki::test {

enum class Ended {
  kWell,     // it returned
  kTold,     // a rank ended the job with a message
  kHung,     // it was still running when its time was over, and was killed
  kCrashed,  // by a signal, by a sanitizer, or without a word
};

struct Ending {
  Ended how = Ended::kCrashed;
  std::string text;  // what it wrote to standard error, and how it ended
};

/// REQUIRES: the caller has one thread.
Ending run_in_child(const std::function<void()>& body, double seconds_max);

}  // namespace tasuki::test
