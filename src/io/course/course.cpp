// Going on with an access that waits: see course.hpp.
#include "io/course/course.hpp"

namespace tasuki {

/// A task that is over is followed by the one that waits for it, which may meet the next thing to wait for.
bool Course::go_on(bool* moved) {
  ++looks_;
  while (holds_(awaited_)) {
    *moved = true;
    for (Task::Handle at = std::exchange(at_, {});;) {
      at.resume();
      if (!at.done()) break;
      at = at.promise().caller;
      if (!at) return true;
    }
  }
  return false;
}

}  // namespace tasuki
