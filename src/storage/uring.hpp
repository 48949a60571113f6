// Ring: transfers of one file that the kernel goes on with while the caller does something else, and many of
// them for one system call. It is io_uring, through liburing, where the build found that and the kernel
// permits it; tests put one of their own in its place.
//
// Thread safety: one thread at a time, not always the same one. A child of fork() may close what it
// inherited.
#pragma once

#include <sys/uio.h>

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/types.hpp"

namespace tasuki {

/// One preadv or pwritev, and what it returned: bytes, or an errno below 0. -EAGAIN also stands for what the
/// ring could not begin at all.
struct RingCall {
  Offset offset;
  const iovec* vectors;
  std::size_t count;
  std::int64_t result = 0;
};

class Ring {
 public:
  /// REQUIRES: nothing is under way.
  virtual ~Ring() = default;

  /// Begins the calls, in any order; no more than some of them if there are many. They and what they point at
  /// stay until finish(). REQUIRES: nothing is under way.
  virtual void begin(int fd, bool write, std::span<RingCall> calls) = 0;
  /// Returns when all have a result. False: the ring is of no more use.
  virtual bool finish() = 0;
};

/// Returns null where there is none to be had, with the reason in `refusal`.
using RingMaker = std::function<std::unique_ptr<Ring>(std::string* refusal)>;
std::unique_ptr<Ring> make_ring(std::string* refusal);

}  // namespace tasuki
