// RmaRequest: what the request forms of the communication calls give (MPI 12.3.5). Done when the origin's
// buffers are free (put, accumulate) or filled (get, get_accumulate).
#pragma once

#include "p2p/request.hpp"
#include "rma/window.hpp"

namespace tasuki::rma {

struct RmaRequest final : Request {
  explicit RmaRequest(Win& of) : Request(RequestType::kRma, *of.comm), window(Ref<Win>::share(&of)) {
    active = true;
  }
  ErrorOwner* error_owner() override { return window.get(); }

  /// A part of the operation begins or is over. It is done when all that began are over; the call that
  /// starts the operation counts as one, so that it is not done too early.
  void begin_part() { ++parts_open_; }
  void end_part() {
    if (--parts_open_ == 0) complete();
  }

  Ref<Win> window;

 private:
  int parts_open_ = 0;
};

}  // namespace tasuki::rma
