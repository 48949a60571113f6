// The two sides of a copy that is made together.
#include "rma/access/cooperative.hpp"

#include <cstring>

#include "memory/symmetric_heap.hpp"

namespace tasuki::rma {
namespace {

constexpr Count kWakeBytesMin = 1024 * 1024;  // waking a rank that sleeps takes as long as copying this

/// Whether this rank can reach what the job names: its own part of the window, and memory of the origin's
/// symmetric heap.
bool is_possible(Win& win, const CopyJob& job) {
  const Part& own = win.part(win.rank());
  return job.origin >= 0 && job.origin < win.size() && job.offset >= 0 && job.bytes > 0 &&
         job.bytes <= own.bytes && job.offset <= own.bytes - job.bytes &&
         win.process.symmetric_heap
             ->locate(win.comm->endpoint(job.origin), job.origin_address, static_cast<std::size_t>(job.bytes))
             .is_shared();
}

}  // namespace

bool copy_cooperatively(Win& win, bool is_put, const OriginBuffer& origin, std::byte* target,
                        const TargetBuffer& remote) {
  const Count bytes = remote.bytes();
  SharedControl* const control = win.control->shared();
  if (bytes < kPostedCopyBytesMin || control == nullptr || remote.rank == win.rank() ||
      !origin.type->contiguous || !remote.type->contiguous || win.process.config.spin_count == 0)
    return false;
  const CopyJob job{
      .origin_address =
          win.process.symmetric_heap->locate(origin.address, static_cast<std::size_t>(bytes)).address,
      .offset = remote.offset,
      .bytes = bytes,
      .origin = win.rank(),
      .is_put = is_put,
  };
  if (job.origin_address == 0) return false;
  PostedCopy& posted = control->posted_copy(remote.rank);
  ByteRange piece;
  CooperativeCopyEnd end = post_copy(posted, job, &piece);
  if (!end.exists()) return false;
  if (bytes >= kWakeBytesMin) control->wake(remote.rank);
  const std::byte* from = is_put ? origin.address : target;
  std::byte* to = is_put ? target : origin.address;
  for (; !piece.empty(); piece = end.claim(piece, kPostedPieces)) {
    std::memcpy(to + piece.begin, from + piece.begin, static_cast<std::size_t>(piece.bytes()));
  }
  close_copy(posted);
  control->wait_for_copy(remote.rank, end);
  free_copy(posted);
  return true;
}

bool help_origin(void* context) {
  Win& win = *static_cast<Win*>(context);
  SharedControl& control = *win.control->shared();  // which calls this
  PostedCopy& posted = control.posted_copy(win.rank());
  CopyJob job;
  CooperativeCopyEnd end = join_copy(posted, &job);
  if (!end.exists()) return false;
  const bool can_help = is_possible(win, job);
  const ByteRange piece = can_help ? end.claim({}, kPostedPieces) : ByteRange{};
  if (!piece.empty()) {
    std::byte* own = win.part(win.rank()).base + job.offset + piece.begin;
    auto* others = reinterpret_cast<std::byte*>(job.origin_address + static_cast<std::uint64_t>(piece.begin));
    std::memcpy(job.is_put ? own : others, job.is_put ? others : own,
                static_cast<std::size_t>(piece.bytes()));
    end.report(piece);
  }
  leave_copy(posted);
  if (can_help) control.wake(job.origin);  // it may wait for this rank to leave
  return !piece.empty();
}

}  // namespace tasuki::rma
