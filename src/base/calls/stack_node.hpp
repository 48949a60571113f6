// StackNode: a node of a list whose nodes lie on the stacks of calls, the newest first. It is in the list as
// long as it lives; nodes may leave in any order, as several threads do.
//
// Thread safety: the owner of the list guards it.
#pragma once

namespace tasuki {

/// `T` derives from it.
template <class T>
class StackNode {
 public:
  /// `list`: where the first node stands.
  explicit StackNode(T** list) : next(*list), here_(list) {
    link_next_to(&next);
    *here_ = static_cast<T*>(this);
  }
  ~StackNode() {
    *here_ = next;
    link_next_to(here_);
  }
  StackNode(const StackNode&) = delete;
  StackNode& operator=(const StackNode&) = delete;

  T* next;

 private:
  void link_next_to(T** place) {
    if (next != nullptr) static_cast<StackNode*>(next)->here_ = place;
  }

  T** here_;  // what points to this one
};

}  // namespace tasuki
