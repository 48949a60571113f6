// A lane whose transfers a thread of its own and the caller share. A transfer is cut into shares of
// kShareBytes. The thread takes one after the other, while the program computes; a caller that only waits
// takes them itself (help()), and then the thread stays out, until the caller has taken none for a while: two
// at a time would wait for each other at the file, and at the processors.
//
// Thread safety: begin(), is_over() and finish() by one thread at a time, help() by one at a time. The thread
// hears no signals, and starts with the first transfer that it is needed for. A child of fork() has no such
// thread: there what is under way never ends, and nothing is waited for.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/types.hpp"
#include "storage/driver.hpp"

namespace tasuki {

/// Moves pieces before it returns: FileDriver's write_at() or read_at().
using MovePieces = std::function<TransferResult(bool write, std::span<const FilePiece> pieces)>;

struct LaneCalls {
  MovePieces by_caller;
  MovePieces by_thread;  // at the same time as the other one
  /// Reads without waiting for a device. Returns whether that was all there is to read; else `result` says
  /// nothing.
  std::function<bool(std::span<const FilePiece> pieces, TransferResult* result)> read_from_cache;
};

/// Shorter ones have ranks that write to a file in turn change places more often: with a MiB two ranks take 5
/// % longer on ext4. While the caller makes one it does nothing else.
inline constexpr Count kShareBytes = Count{4} << 20;

std::unique_ptr<FileLane> make_shared_lane(LaneCalls calls);

}  // namespace tasuki
