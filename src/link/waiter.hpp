// Waiter: how a rank that has nothing to do passes its time: it offers its processor to others, or sleeps
// until a peer or a thread of its own wakes it. Progress decides when, and asks a Waiter to do it.
//
// Implemented by: progress/link_waiter.hpp (the usual way: sleep in the link), and by tests in which no real
// time passes.
//
// Thread safety: sleep() is called without the process lock, the others with it.
#pragma once

#include <cstdint>

namespace tasuki {

class Link;

class Waiter {
 public:
  virtual ~Waiter() = default;

  /// Lets another process or thread run, if one wants to.
  virtual void offer_processor() = 0;

  /// arm() gives a ticket; then the rank looks once more for what it waits for; then sleep(ticket) returns
  /// when something may have come since arm(), or `timeout_ns` later: false when only the time has passed.
  /// disarm() follows, also where the rank did not sleep.
  virtual std::uint32_t arm() = 0;
  virtual bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) = 0;
  virtual void disarm() = 0;

  /// Wakes this rank's own sleepers, from another of its threads.
  virtual void ring() = 0;

  /// From now on the rank waits for what comes by `link`, which stands before the one of until now.
  virtual void use(Link& /*link*/) {}
};

}  // namespace tasuki
