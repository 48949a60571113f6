// LinkWaiter: the usual Waiter. A rank sleeps in its link, which the peers wake when they send.
#pragma once

#include <sched.h>

#include <cstdint>

#include "link/link.hpp"
#include "link/waiter.hpp"

namespace tasuki {

class LinkWaiter final : public Waiter {
 public:
  explicit LinkWaiter(Link& link) : link_(&link) {}
  void offer_processor() override { sched_yield(); }
  std::uint32_t arm() override { return link_->arm(); }
  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override {
    return link_->sleep(ticket, timeout_ns);
  }
  void disarm() override { link_->disarm(); }
  void ring() override { link_->ring(); }
  void use(Link& link) override { link_ = &link; }

 private:
  Link* link_;
};

}  // namespace tasuki
