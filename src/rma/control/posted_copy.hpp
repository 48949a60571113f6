// PostedCopy: a large put, get or accumulate that origin and target carry out together
// (protocol/cooperative_copy.hpp). The origin posts what is to be moved and moves from the front; the target,
// if it waits for something of the window meanwhile, moves from the far end, piece by piece. To move is to
// copy, or, of an accumulate, to combine.
//
// One lies in the window's segment for each target; an origin that finds it taken copies alone. The target
// needs nothing but to look at it while it waits. It reads and writes its own part of the window and memory
// of the origin's symmetric heap, nothing else, whatever stands in the fields.
//
// The target looks when it likes, so it could take what it has read of one job for the next one. Hence
// it joins before it reads a job, and leaves when it has copied its piece; the origin closes its job, and
// does not free the PostedCopy before the target has left. Both write seq_cst before they read what the other
// writes: either the target sees that the job is closed, or the origin that the target has joined.
//
// Ownership: the memory belongs to the window's segment; all zero is free.
// Thread safety: any number of ranks; each field names its writer.
//
// Invariants:
//  1. The description changes only while the job is closed and the target has not joined.
//  2. A target that has joined and found the job open may read and write what the description says until it
//     leaves.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/types.hpp"
#include "memory/symmetric_heap.hpp"
#include "protocol/cooperative_copy.hpp"

namespace tasuki::rma {

struct alignas(64) PostedCopy {
  std::atomic<std::uint32_t> taken;  // writer: an origin, 1 while it uses this
  std::atomic<std::uint32_t>
      state;  // writer: the origin; twice the number of its job, and 1 while it is open
  std::atomic<std::uint32_t> joined;  // writer: the target, 1 while it takes part
  // The description; writer: the origin; relaxed, under `state`.
  std::atomic<std::int32_t> origin;  // rank in the window
  std::atomic<SymmetricAddress> origin_address;
  std::atomic<std::int64_t> offset;  // in the target's part
  std::atomic<std::int64_t> bytes;
  std::atomic<std::uint32_t> action;  // a CopyAction
  CooperativeCopy copy;
};
static_assert(sizeof(PostedCopy) == 64);

/// What is done: a get, a put, or an accumulate by the predefined operation `op` on the basic type `basic`.
struct CopyAction {
  bool is_put = false;      // of an accumulate: true
  std::uint16_t op = 0;     // 0: it is none
  std::uint16_t basic = 0;  //

  static CopyAction of(std::uint32_t word) {
    return {(word & 1) != 0, static_cast<std::uint16_t>(word >> 1 & 0x7fff),
            static_cast<std::uint16_t>(word >> 16)};
  }
  std::uint32_t word() const {
    return std::uint32_t{basic} << 16 | std::uint32_t{op} << 1 | (is_put ? 1u : 0u);
  }

  friend bool operator==(const CopyAction&, const CopyAction&) = default;
};

/// What is to be moved.
struct CopyJob {
  SymmetricAddress origin_address = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int32_t origin = 0;
  CopyAction action;
};

inline constexpr Count kPostedCopyBytesMin = 64 * 1024;

/// What a rank claims at once.
inline constexpr ClaimSizes kPostedPieces{.bytes_min = 32 * 1024, .bytes_max = 32 * 1024};

/// The origin posts `job`: `first` is its first piece. None where another origin's is under way.
CooperativeCopyEnd post_copy(PostedCopy& posted, const CopyJob& job, ByteRange* first);

/// The origin has nothing left to claim: the target joins no more.
void close_copy(PostedCopy& posted);

/// Whether all is copied and the target has left. REQUIRES: it is closed.
bool is_copied(const PostedCopy& posted, CooperativeCopyEnd& end);

/// Whether what the two have written can be right.
bool is_sound(const PostedCopy& posted, const CooperativeCopyEnd& end);

/// Another origin may post. REQUIRES: is_copied().
void free_copy(PostedCopy& posted);

/// The target joins a job of which something is to be copied, and gets its end. None: there is no such job,
/// and it has not joined. What it copies it claims and reports; then it leaves.
CooperativeCopyEnd join_copy(PostedCopy& posted, CopyJob* job);
void leave_copy(PostedCopy& posted);

}  // namespace tasuki::rma
