// SharedCopy: a large copy that two ranks make together. The origin of a put or get copies from the front;
// the target, if it waits for something of the window meanwhile, from the far end, piece by piece.
//
// One lies in the window's segment for each target: whoever finds it taken copies alone. The target needs
// nothing but to look at it while it waits. It reads and writes its own part of the window and memory of the
// origin's arena, nothing else, whatever the fields say.
//
// Claims are one word: a piece is claimed by one compare-and-swap, which fails when the job has changed since
// the word was read; so what was read of the job between the two belongs to it. That needs a job to be closed
// before its description changes: an exhausted one would have pieces again under a larger size. (The job's
// number has 31 bits: a rank would have to sleep through all of them, between two instructions, to be wrong.)
//
// Ownership: the memory belongs to the window's segment; all zero is free.
// Thread safety: any number of ranks; each field says its writer.
//
// Invariants:
//  1. The description changes only while the word is closed, which it is between jobs: all zero is so too.
//  2. front + back <= pieces; `copied` counts the pieces from the back that are there.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/types.hpp"
#include "memory/global_memory.hpp"

namespace tasuki::rma {

struct alignas(64) SharedCopy {
  std::atomic<std::uint32_t> taken;   // writer: an origin, 1 while it uses this
  std::atomic<std::uint32_t> copied;  // writer: the target, 0 by the origin before it begins
  std::atomic<std::uint64_t> claims;  // open, number of the job, back, front; writer: both
  // The description; writer: the origin, before it opens `claims` (release, read with acquire).
  std::atomic<GlobalAddress> origin_address;
  std::atomic<std::int64_t> offset;  // in the target's part
  std::atomic<std::int64_t> bytes;
  std::atomic<std::int32_t> origin;  // rank in the window
  std::atomic<std::uint32_t> is_put;
};
static_assert(sizeof(SharedCopy) == 64);

/// What is to be copied.
struct CopyJob {
  GlobalAddress origin_address = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int32_t origin = 0;
  bool is_put = false;
};

/// Bytes [begin, end) of a job.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool empty() const { return begin == end; }
};

inline constexpr Count kSharedCopyBytesMin = 64 * 1024;

/// Begins `job` at a target, unless another origin's is under way there.
bool begin_copy(SharedCopy& copy, const CopyJob& job);

/// The origin's next piece; empty: everything is claimed.
Piece claim_front(SharedCopy& copy, std::int64_t bytes);

/// Whether the target has copied what it claimed. REQUIRES: everything is claimed.
bool is_copied(const SharedCopy& copy);

/// Whether the target can have copied what it says, of what it has claimed.
bool is_sound(const SharedCopy& copy);

/// The origin is done. REQUIRES: is_copied().
void end_copy(SharedCopy& copy);

/// What the target finds. `job` means something only if try_claim_back() then succeeds.
std::uint64_t read_job(const SharedCopy& copy, CopyJob* job);

/// Whether some of that job was to be copied.
bool has_work(std::uint64_t claims, const CopyJob& job);

/// The target's next piece of that job. Returns false when the job or its claims have changed since.
/// REQUIRES: has_work().
bool try_claim_back(SharedCopy& copy, std::uint64_t claims, const CopyJob& job, Piece* piece);

/// The target has copied a piece.
void add_copied(SharedCopy& copy);

}  // namespace tasuki::rma
