// Unlocked: what is kept of a call while other threads run theirs.
#include "base/calls/unlocked.hpp"

namespace tasuki {

void Unlocked::step_out() {
  if (call_.line != nullptr) line_ = values_of(*call_.line);
  if (call_.error_owner != nullptr) error_owner_ = *call_.error_owner;
  lock_->let_go();
}

void Unlocked::step_in() {
  lock_->lock();
  if (call_.error_owner != nullptr) *call_.error_owner = error_owner_;
  if (call_.line == nullptr || call_.line->word.load(std::memory_order_relaxed) == line_.word) return;
  put_back(line_, call_.line);
}

}  // namespace tasuki
