// PostedCopy: when the target may read and copy what the origin has posted.
#include "rma/control/posted_copy.hpp"

namespace tasuki::rma {
namespace {

bool is_open(std::uint32_t state) {
  return (state & 1) != 0;
}

CopyJob read_job(const PostedCopy& posted) {
  return {.origin_address = posted.origin_address.load(std::memory_order_relaxed),
          .offset = posted.offset.load(std::memory_order_relaxed),
          .bytes = posted.bytes.load(std::memory_order_relaxed),
          .origin = posted.origin.load(std::memory_order_relaxed),
          .action = CopyAction::of(posted.action.load(std::memory_order_relaxed))};
}

/// The target's end of what it reads, which may be damaged, or change as it reads.
CooperativeCopyEnd target_end(PostedCopy& posted, std::uint32_t state, const CopyJob& job) {
  if (!is_open(state) || job.bytes <= 0 || job.bytes > INT64_MAX / 2) return {};
  CooperativeCopyEnd end(&posted.copy, state >> 1, job.bytes, false);
  end.look();
  return end.has_unclaimed() ? end : CooperativeCopyEnd();
}

}  // namespace

CooperativeCopyEnd post_copy(PostedCopy& posted, const CopyJob& job, ByteRange* first) {
  std::uint32_t free = 0;
  if (!posted.taken.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed))
    return {};
  posted.origin_address.store(job.origin_address, std::memory_order_relaxed);
  posted.offset.store(job.offset, std::memory_order_relaxed);
  posted.bytes.store(job.bytes, std::memory_order_relaxed);
  posted.origin.store(job.origin, std::memory_order_relaxed);
  posted.action.store(job.action.word(), std::memory_order_relaxed);
  const std::uint32_t number = (posted.state.load(std::memory_order_relaxed) >> 1) + 1;
  CooperativeCopyEnd end(&posted.copy, number, job.bytes, true);
  *first = end.start(kPostedPieces.bytes_min);
  // seq_cst: a target may be about to sleep (Node::wake).
  posted.state.store(number << 1 | 1, std::memory_order_seq_cst);
  return end;
}

void close_copy(PostedCopy& posted) {
  posted.state.store(posted.state.load(std::memory_order_relaxed) & ~1U, std::memory_order_seq_cst);
}

bool is_copied(const PostedCopy& posted, CooperativeCopyEnd& end) {
  return end.look() && posted.joined.load(std::memory_order_seq_cst) == 0;
}

bool is_sound(const PostedCopy& posted, const CooperativeCopyEnd& end) {
  return !end.is_damaged() && posted.joined.load(std::memory_order_relaxed) <= 1;
}

void free_copy(PostedCopy& posted) {
  posted.taken.store(0, std::memory_order_release);
}

// The first look writes nothing, so that a target that waits takes no line from ranks that copy.
CooperativeCopyEnd join_copy(PostedCopy& posted, CopyJob* job) {
  if (!target_end(posted, posted.state.load(std::memory_order_acquire), read_job(posted)).exists()) return {};
  posted.joined.store(1, std::memory_order_seq_cst);
  const std::uint32_t state = posted.state.load(std::memory_order_seq_cst);
  *job = read_job(posted);
  const CooperativeCopyEnd end = target_end(posted, state, *job);
  if (!end.exists()) leave_copy(posted);
  return end;
}

void leave_copy(PostedCopy& posted) {
  posted.joined.store(0, std::memory_order_seq_cst);
}

}  // namespace tasuki::rma
