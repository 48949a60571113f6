// Control: how the ranks of a window synchronize: locks, posts and completes, barriers. It has two forms with
// the same calls:
//
//   SharedControl   all ranks are on one node: words in memory that they share, no message, no help of others
//   ServedControl   they are on several: each rank serves its own part's words, by messages
//
// Which of the two a window has is decided when it is made. What only one of them can do (a copy that two
// ranks make together; an unlock that flushes) is asked of that form.
//
// Thread safety: the process lock.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "rma/control/served_control.hpp"
#include "rma/control/shared_control.hpp"

namespace tasuki::rma {

class Control {
 public:
  /// `memory` as for SharedControl.
  Control(std::byte* memory, Comm& comm, const GuardRules& rules) { shared_.emplace(memory, comm, rules); }
  /// As for ServedControl.
  Control(Comm& comm, const ErrorOwner& window, ControlSender& sender)
      : served_(std::make_unique<ServedControl>(comm, window, sender)) {}

  bool is_shared() const { return shared_.has_value(); }
  /// Null in the other form.
  SharedControl* shared() { return is_shared() ? &*shared_ : nullptr; }
  ServedControl* served() { return served_.get(); }

  // Passive targets. lock() returns once it is held; the user's locks do not nest. For unlocking see the two
  // forms: a served lock is given back together with a flush.
  void lock(int target, bool exclusive) {
    is_shared() ? shared_->lock(target, exclusive) : served_->lock(target, exclusive);
  }

  // Active targets.
  void post(int origin) { is_shared() ? shared_->post(origin) : served_->post(origin); }
  void wait_for_post(int target) {  // one wait per post
    is_shared() ? shared_->wait_for_post(target) : served_->wait_for_post(target);
  }
  void complete(int target) { is_shared() ? shared_->complete(target) : served_->complete(target); }
  bool is_complete(int origin) const {  // since the last consume_complete()
    return is_shared() ? shared_->is_complete(origin) : served_->is_complete(origin);
  }
  void wait_until_complete(const std::vector<int>& origins) {
    is_shared() ? shared_->wait_until_complete(origins) : served_->wait_until_complete(origins);
  }
  void consume_complete(int origin) {  // REQUIRES: is_complete(origin)
    is_shared() ? shared_->consume_complete(origin) : served_->consume_complete(origin);
  }

  /// Returns once all ranks have come here. What a rank did to memory before it, all see after it.
  void barrier() { is_shared() ? shared_->barrier() : served_->barrier(); }

  /// Of accumulates at `target`, whose part begins at `base` here. Where control is served, a rank combines
  /// what is its own, alone. REQUIRES: the shared form, or `target` is this rank.
  ElementGuard element_guard(int target, const std::byte* base, bool among_threads) const {
    return is_shared() ? shared_->element_guard(target, base, among_threads) : ElementGuard();
  }

  /// Adds the endpoints of the ranks that a wait under way is for: of a lock, those that hold it or are
  /// before this rank in its queue.
  void add_missing(std::vector<int>* endpoints) const {
    is_shared() ? shared_->add_missing(endpoints) : served_->add_missing(endpoints);
  }

 private:
  std::optional<SharedControl> shared_;
  std::unique_ptr<ServedControl> served_;
};

}  // namespace tasuki::rma
