// Sleeper: how a rank sleeps until its doorbell is rung or a descriptor becomes readable, whichever is first,
// without using a processor.
//
// Linux knows no call that waits for both; there are two ways. Where the kernel has it (6.7), one io_uring
// waits for the doorbell's word and for the descriptor. Else a helper thread waits for the descriptor, and
// rings the doorbell on which the rank sleeps.
//
// Ownership: doorbell and descriptor are the caller's and outlive this. Thread safety: one thread at a time
// may be in sleep(); it needs no process lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "node/doorbell.hpp"

namespace tasuki::ofi {

/// The choices of TASUKI_NET_WAIT, in their order.
enum class WaitBy : std::uint8_t { kBest, kUring, kThread };

class Sleeper {
 public:
  virtual ~Sleeper() = default;

  /// As doorbell_sleep(); returns also when the descriptor is readable.
  virtual bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) = 0;

  /// "io_uring" or "a helper thread".
  virtual const char* name() const = 0;
};

/// `descriptor` may be -1: then only the doorbell wakes. Returns null and one line in `error` where
/// WaitBy::kUring is wanted and the kernel, or this build, has it not.
std::unique_ptr<Sleeper> make_sleeper(WaitBy by, shm::Doorbell& bell, int descriptor, std::string* error);

/// Null where the kernel refuses, or where this build has no liburing.
std::unique_ptr<Sleeper> make_uring_sleeper(shm::Doorbell& bell, int descriptor);

}  // namespace tasuki::ofi
