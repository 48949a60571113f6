// WaitingCall: a call that waits. Reports on this rank name what it waits for (p2p/awaiting.hpp), and ranks
// that copy a message together with this one see that it waits, so that they leave more of it to this rank
// (p2p/large/large.hpp). Both end with the object.
//
// Thread safety: under the process lock, as Awaiting.
#pragma once

#include "p2p/awaiting.hpp"
#include "p2p/point_to_point.hpp"

namespace tasuki {

class WaitingCall : public Awaiting {
 public:
  /// `what`: as Awaiting's constructors have it behind the list.
  template <class... What>
  explicit WaitingCall(PointToPoint& p2p, What... what) : Awaiting(&p2p.awaiting, what...), p2p_(p2p) {
    p2p.begin_waiting();
  }
  ~WaitingCall() {
    const bool is_last = p2p_.awaiting == this && next == nullptr;
    if (is_last) p2p_.end_waiting();
  }

 private:
  PointToPoint& p2p_;
};

}  // namespace tasuki
