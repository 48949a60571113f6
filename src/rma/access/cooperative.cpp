// The two sides of a copy or an accumulate that is made together.
#include "rma/access/cooperative.hpp"

#include <cstring>

#include "base/copy.hpp"
#include "memory/symmetric_heap.hpp"
#include "progress/progress.hpp"

namespace tasuki::rma {
namespace {

constexpr Count kWakeBytesMin = 1024 * 1024;  // waking a rank that sleeps takes as long as copying this

/// Whether this rank can reach what the job names, its own part of the window and memory of the origin's
/// symmetric heap, and knows the accumulate, if it is one.
bool is_possible(Win& win, const CopyJob& job, Combination* how) {
  const Part& own = win.part(win.rank());
  if (job.action.op != 0 &&
      (!make_combination(job.action.op, job.action.basic, how) || how->has_padding() || how->op == kMpiNoOp ||
       job.bytes % how->element_bytes() != 0 || kPostedPieces.bytes_min % how->element_bytes() != 0))
    return false;
  return job.origin >= 0 && job.origin < win.size() && job.offset >= 0 && job.bytes > 0 &&
         job.bytes <= own.bytes && job.offset <= own.bytes - job.bytes &&
         win.process.symmetric_heap
             ->locate(win.comm->endpoint(job.origin), job.origin_address, static_cast<std::size_t>(job.bytes))
             .is_shared();
}

/// Posts the job, moves pieces of it by `move(piece)` until none is left, and waits for the target's. Returns
/// false, having done nothing, where that makes no sense.
template <class Move>
bool move_together(Win& win, const OriginBuffer& origin, const TargetBuffer& remote, CopyAction action,
                   Move&& move) {
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
      .action = action,
  };
  if (job.origin_address == 0) return false;
  PostedCopy& posted = control->posted_copy(remote.rank);
  ByteRange piece;
  CooperativeCopyEnd end = post_copy(posted, job, &piece);
  if (!end.exists()) return false;
  if (bytes >= kWakeBytesMin) control->wake(remote.rank);
  for (; !piece.empty(); piece = end.claim(piece, kPostedPieces)) move(piece);
  close_copy(posted);
  control->wait_for_copy(remote.rank, end);
  free_copy(posted);
  return true;
}

/// Moves a piece of a job that an origin has posted to this rank.
void move_piece(Win& win, const CopyJob& job, const Combination& how, const ByteRange& piece) {
  std::byte* own = win.part(win.rank()).base + job.offset + piece.begin;
  auto* others = reinterpret_cast<std::byte*>(job.origin_address + static_cast<std::uint64_t>(piece.begin));
  if (job.action.op != 0) {
    combine_array(how, win.element_guard(win.rank()), own, piece.bytes() / how.element_bytes(), others,
                  nullptr);
    return;
  }
  copy_bytes(job.action.is_put ? own : others, job.action.is_put ? others : own,
             static_cast<std::size_t>(piece.bytes()));
}

}  // namespace

bool copy_cooperatively(Win& win, bool is_put, const OriginBuffer& origin, std::byte* target,
                        const TargetBuffer& remote) {
  const std::byte* from = is_put ? origin.address : target;
  std::byte* to = is_put ? target : origin.address;
  return move_together(win, origin, remote, {.is_put = is_put}, [&](const ByteRange& piece) {
    const Progress::Release released(*win.process.progress, piece.bytes());
    copy_bytes(to + piece.begin, from + piece.begin, static_cast<std::size_t>(piece.bytes()));
  });
}

bool combine_cooperatively(Win& win, const Combination& how, const OriginBuffer& origin,
                           const ElementGuard& guard, std::byte* target, const TargetBuffer& remote) {
  if (how.has_padding() || how.op == kMpiNoOp) return false;
  const CopyAction action{.is_put = true, .op = how.op, .basic = how.type->predefined};
  return move_together(win, origin, remote, action, [&](const ByteRange& piece) {
    const Progress::Release released(*win.process.progress, guard.admits_threads() ? piece.bytes() : 0);
    combine_array(how, guard, target + piece.begin, piece.bytes() / how.element_bytes(),
                  origin.address + piece.begin, nullptr);
  });
}

bool help_origin(void* context) {
  Win& win = *static_cast<Win*>(context);
  SharedControl& control = *win.control->shared();  // which calls this
  PostedCopy& posted = control.posted_copy(win.rank());
  CopyJob job;
  CooperativeCopyEnd end = join_copy(posted, &job);
  if (!end.exists()) return false;
  Combination how;
  const bool can_help = is_possible(win, job, &how);
  const ByteRange piece = can_help ? end.claim({}, kPostedPieces) : ByteRange{};
  if (!piece.empty()) {
    move_piece(win, job, how, piece);
    end.report(piece);
  }
  leave_copy(posted);
  if (can_help) control.wake(job.origin);  // it may wait for this rank to leave
  return !piece.empty();
}

}  // namespace tasuki::rma
