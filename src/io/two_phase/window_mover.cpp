// An aggregator's windows: see window_mover.hpp.
#include "io/two_phase/window_mover.hpp"

#include <algorithm>

#include "base/system/clock.hpp"
#include "io/access/read_modify_write.hpp"
#include "io/two_phase/cost_model.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kPiecesMax = 1024;         // in one batch: as many as one system call takes
constexpr std::size_t kCarriedPiecesMax = 8192;  // the same of a lane
constexpr Count kRunsWindowBytes =
    8 << 20;  // of a slice that is moved by runs: how long others wait for its lock

// What decides between the two ways of a slice, in nanoseconds; io/two_phase/cost_model.cpp has more of them.
constexpr double kDiskCallNs = 1200;  // the same of a write to a file that does not lie in memory
constexpr double kCopyNs = 0.15;      // a byte between memory and buffer
constexpr double kFileByteNs = 0.15;  // a byte between memory and file
constexpr Count kLongRunBytes = 4096;

Count runs_in(const WindowPart& part) {
  return 1 + (part.range.bytes() - 1) / std::max<Count>(part.map->run_bytes(), 1);
}

FileRange hull_of(std::span<const WindowPart> parts) {
  FileRange hull{INT64_MAX, 0};
  for (const WindowPart& part : parts) {
    hull.begin = std::min(hull.begin, part.map->offset_of(part.range.begin));
    hull.end = std::max(hull.end, part.map->offset_of(part.range.end - 1) + 1);
  }
  return hull;
}

Count bytes_of(std::span<const WindowPart> parts) {
  Count bytes = 0;
  for (const WindowPart& part : parts) bytes += part.range.bytes();
  return bytes;
}

/// A part's run that is next in the file.
struct Next {
  FileRun run;
  const WindowPart* part;
  Count position;
};

bool is_later(const Next& one, const Next& other) {
  return one.run.offset > other.run.offset;
}

Next run_of(const WindowPart& part, Count position) {
  FileRun run = part.map->run_at(position);
  run.bytes = std::min(run.bytes, part.range.end - position);
  return {run, &part, position};
}

}  // namespace

WindowMover::WindowMover(Course& course, File& file, const AccessPlan& plan, const PhasePlace& place)
    : course_(course),
      file_(file),
      write_(plan.write),
      by_runs_(plan.by_runs),
      call_ns_(!plan.write                   ? kCallNs
               : !file.in_memory             ? kDiskCallNs
               : plan.aggregators.size() > 1 ? kMeetingCallNs
                                             : kCallNs),
      can_fill_holes_(can_fill_holes(file)),
      buffer_bytes_(course.waits() ? kSliceBytes : kCarriedSliceBytes),
      slice_bytes_(buffer_bytes_),
      place_(place) {}

Task WindowMover::move(Count cycle, const FileRange& window, std::span<const WindowPart> parts) {
  if (parts.empty() || outcome_.error != 0) co_return kSuccess;
  place_.cycle = static_cast<std::uint32_t>(cycle);
  rest_.assign(parts.begin(), parts.end());
  rest_full_ = write_ && fills(parts, hull_of(parts));
  while (outcome_.error == 0 && take_slice(window.end)) {
    if (goes_by_runs()) {
      co_await finish_write();
      co_await move_runs();
    } else if (write_) {
      co_await write_buffered();
    } else {
      co_await read_buffered();
    }
    since_look_bytes_ += slice_.hull.bytes();
    if (course_.waits() || since_look_bytes_ >= kSliceBytes) {
      since_look_bytes_ = 0;
      co_await next_look(course_);
    }
  }
  co_await finish_write();
  co_return kSuccess;
}

/// Whether `parts` have every byte of `hull`: by their sum where that decides. Views for which this was too
/// costly to find out are not looked at again: to read what may lie in holes costs less than to merge their
/// runs.
bool WindowMover::fills(std::span<const WindowPart> parts, const FileRange& hull) {
  const Count bytes = bytes_of(parts);
  if (bytes < hull.bytes()) return false;
  if (parts.size() == 1) return bytes == hull.bytes();
  if (file_.views != nullptr && file_.undecided_views == file_.views.get()) return false;
  std::vector<MappedRange> ranges;
  ranges.reserve(parts.size());
  for (const WindowPart& part : parts) ranges.push_back({part.map, part.range});
  if (covers(ranges, hull.begin, hull.end)) return true;
  file_.undecided_views = file_.views.get();
  return false;
}

/// Takes from what is left of the window what lies before the next multiple of a slice's size. Returns
/// whether there was anything.
bool WindowMover::take_slice(Offset window_end) {
  slice_bytes_ = course_.waits() || course_.is_awaited ? kSliceBytes : kCarriedSliceBytes;
  slice_.parts.clear();
  Offset begin = INT64_MAX;
  Count bytes = 0;
  Count runs = 0;
  for (const WindowPart& part : rest_) {
    if (part.range.bytes() == 0) continue;
    begin = std::min(begin, part.map->offset_of(part.range.begin));
    bytes += part.range.bytes();
    runs += runs_in(part);
  }
  if (bytes == 0) return false;
  const bool long_runs = by_runs_ && bytes / runs >= kLongRunBytes;
  const Count unit = long_runs ? std::max(kRunsWindowBytes, slice_bytes_) : slice_bytes_;
  const Offset end = begin / unit < window_end / unit ? (begin / unit + 1) * unit : window_end;
  for (WindowPart& part : rest_) {
    if (part.range.bytes() == 0) continue;
    const PositionRange here = part.map->range_in(part.range, begin, end);
    if (here.bytes() == 0) continue;
    slice_.parts.push_back({part.map, here, part.packed});
    part.packed += here.bytes();
    part.range.begin = here.end;
  }
  slice_.hull = hull_of(slice_.parts);
  slice_.bytes = bytes_of(slice_.parts);
  slice_.runs = 0;
  for (const WindowPart& part : slice_.parts) slice_.runs += runs_in(part);
  slice_.full =
      rest_full_ || (write_ ? fills(slice_.parts, slice_.hull) : slice_.bytes >= slice_.hull.bytes());
  return true;
}

bool WindowMover::goes_by_runs() const {
  if (slice_.hull.bytes() > slice_bytes_) return true;
  if (write_ && !slice_.full && !can_fill_holes_) return true;
  const auto runs = static_cast<double>(slice_.runs);
  const auto bytes = static_cast<double>(slice_.bytes);
  const auto hull = static_cast<double>(slice_.hull.bytes());
  const bool touches = slice_.full && slice_.bytes == slice_.hull.bytes();
  const double by_runs = bytes * kFileByteNs + (touches ? call_ns_ + runs * kPieceNs : runs * call_ns_);
  const double passes = write_ && !slice_.full ? 2 : 1;
  // Where several gather, one does while another writes.
  const double copy = by_runs_ ? bytes * kCopyNs : 0;
  const double buffered = passes * (call_ns_ + hull * kFileByteNs) + copy;
  return by_runs < buffered;
}

/// The buffers take turns: one may still be written while the next slice is gathered.
std::byte* WindowMover::next_buffer() {
  buffer_ ^= 1;
  return file_.slices.take(2 * buffer_bytes_) + buffer_ * buffer_bytes_;
}

Task WindowMover::write_buffered() {
  std::byte* buffer = next_buffer();
  const FileRange& hull = slice_.hull;
  if (!slice_.full) {
    co_await finish_write();
    co_await take_lock(course_, &lock_, file_.locks.get(), hull, RangeUse::kExclusive);
    co_await fill_holes(buffer);
    if (outcome_.error != 0) {
      lock_.let_go();
      co_return kSuccess;
    }
  }
  const std::int64_t gathered_since_ns = clock_ns();
  for (const WindowPart& part : slice_.parts) {
    part.map->to_window(part.range, part.packed, buffer, hull.begin);
  }
  note_phase(file_.process, place_, Phase::kExchange, gathered_since_ns, slice_.bytes);
  if (slice_.full) {
    co_await finish_write();
    if (outcome_.error != 0) co_return kSuccess;
    co_await take_lock(course_, &lock_, file_.locks.get(), hull,
                       file_.atomic ? RangeUse::kExclusive : RangeUse::kShared);
  }
  writing_ = Writing{hull, clock_ns()};
  const FilePiece piece{hull.begin, buffer, hull.bytes()};
  file_.driver_is_taken = course_.waits();
  begin_transfer(course_, *file_.driver, true, {&piece, 1});
  if (course_.waits() ? !file_.driver->is_under_way() : !course_.is_transferring)
    co_await finish_write();  // so that no rank waits for its lock
  co_return kSuccess;
}

/// The bytes of the file in the hull to `buffer`; behind its end zeros.
Task WindowMover::fill_holes(std::byte* buffer) {
  const std::int64_t since_ns = clock_ns();
  const FilePiece piece{slice_.hull.begin, buffer, slice_.hull.bytes()};
  const TransferResult done = co_await transfer_pieces(course_, *file_.driver, false, {&piece, 1});
  if (done.error != 0) {
    fail(done.error, slice_.hull.begin);
    co_return kSuccess;
  }
  std::fill(buffer + done.bytes, buffer + piece.bytes, std::byte{0});
  note_phase(file_.process, place_, Phase::kRead, since_ns, done.bytes);
  co_return kSuccess;
}

Task WindowMover::finish_write() {
  if (!writing_) co_return kSuccess;
  const TransferResult done = co_await end_transfer(course_, *file_.driver);
  if (course_.waits()) file_.driver_is_taken = false;
  note_phase(file_.process, place_, Phase::kWrite, writing_->since_ns, done.bytes);
  outcome_.bytes += done.bytes;
  if (done.error != 0) fail(done.error, writing_->range.begin + done.bytes);
  writing_.reset();
  lock_.let_go();
  co_return kSuccess;
}

Task WindowMover::read_buffered() {
  const FileRange& hull = slice_.hull;
  std::byte* buffer = next_buffer();
  std::int64_t since_ns = clock_ns();
  TransferResult done;
  {
    RangeLock lock;
    co_await take_lock(course_, &lock, file_.atomic ? file_.locks.get() : nullptr, hull, RangeUse::kShared);
    const FilePiece piece{hull.begin, buffer, hull.bytes()};
    done = co_await transfer_pieces(course_, *file_.driver, false, {&piece, 1});
  }
  note_phase(file_.process, place_, Phase::kRead, since_ns, done.bytes);
  outcome_.bytes += done.bytes;
  const Offset end = hull.begin + done.bytes;
  if (end < hull.end) fail(done.error, end);
  since_ns = clock_ns();
  for (const WindowPart& part : slice_.parts) {
    PositionRange there = part.range;
    if (end < hull.end) there = part.map->range_in(part.range, hull.begin, end);
    if (there.bytes() > 0) part.map->from_window(there, part.packed, buffer, hull.begin);
  }
  note_phase(file_.process, place_, Phase::kExchange, since_ns, slice_.bytes);
  co_return kSuccess;
}

/// The slice, run by run in the order of the file. In atomic mode part after part, so that of what several
/// have written the last one's bytes stay.
Task WindowMover::move_runs() {
  const std::size_t together = file_.atomic && write_ ? 1 : slice_.parts.size();
  for (std::size_t first = 0; first < slice_.parts.size(); first += together) {
    co_await move_runs_of(std::span<const WindowPart>(slice_.parts).subspan(first, together));
  }
  co_return kSuccess;
}

Task WindowMover::move_runs_of(std::span<const WindowPart> parts) {
  std::vector<Next> heap;
  heap.reserve(parts.size());
  for (const WindowPart& part : parts) heap.push_back(run_of(part, part.range.begin));
  std::make_heap(heap.begin(), heap.end(), is_later);
  const std::size_t pieces_max = course_.waits() ? kPiecesMax : kCarriedPiecesMax;
  pieces_.clear();
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), is_later);
    Next& next = heap.back();
    if (pieces_.size() == pieces_max) co_await move_pieces();
    if (outcome_.error != 0) co_return kSuccess;
    const WindowPart& part = *next.part;
    pieces_.push_back({next.run.offset, part.packed + (next.position - part.range.begin), next.run.bytes});
    const Count position = next.position + next.run.bytes;
    if (position == part.range.end) {
      heap.pop_back();
    } else {
      next = run_of(part, position);
      std::push_heap(heap.begin(), heap.end(), is_later);
    }
  }
  co_return co_await move_pieces();
}

/// One batch of runs. After the end of the file was met only what overlapping parts have before it is left.
Task WindowMover::move_pieces() {
  while (!pieces_.empty() && outcome_.error == 0) {
    Offset end = 0;
    Count wanted = 0;
    for (const FilePiece& piece : pieces_) {
      end = std::max(end, piece.offset + piece.bytes);
      wanted += piece.bytes;
    }
    const std::int64_t since_ns = clock_ns();
    TransferResult done;
    {
      const RangeUse use = write_ && file_.atomic ? RangeUse::kExclusive : RangeUse::kShared;
      RangeLocks* locks = write_ || file_.atomic ? file_.locks.get() : nullptr;
      RangeLock lock;
      co_await take_lock(course_, &lock, locks, {pieces_.front().offset, end}, use);
      done = co_await transfer_pieces(course_, *file_.driver, write_, pieces_);
    }
    note_phase(file_.process, place_, write_ ? Phase::kWrite : Phase::kRead, since_ns, done.bytes);
    outcome_.bytes += done.bytes;
    if (done.bytes == wanted) break;
    Count moved = done.bytes;
    std::size_t stopped = 0;
    while (moved >= pieces_[stopped].bytes) moved -= pieces_[stopped++].bytes;
    const Offset reached = pieces_[stopped].offset + moved;
    fail(done.error, reached);
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(stopped) + 1);
    std::erase_if(pieces_, [=](const FilePiece& piece) { return piece.offset >= reached; });
    for (FilePiece& piece : pieces_) piece.bytes = std::min(piece.bytes, reached - piece.offset);
  }
  pieces_.clear();
  co_return kSuccess;
}

/// What lies at and behind `offset` was not moved: by `error`, or, where that is 0, since the file ends
/// there.
void WindowMover::fail(int error, Offset offset) {
  if (outcome_.error == 0) outcome_.error = error;
  outcome_.reached = std::min(outcome_.reached, offset);
}

}  // namespace tasuki
