// WindowMover: what an aggregator does with a window of the file once it has its parts: gathers them and
// writes, or reads and hands out. Where the parts' packed bytes lie, in their owners' memory or in messages
// that came, is the caller's matter.
//
// A window is worked off in slices that stay in the processor's cache between the gathering and the write. A
// slice goes one of two ways:
//   buffered  through a buffer that holds the file's bytes; where there are holes in what is written, the
//             bytes of the file are read first, under an exclusive lock
//   by runs   the parts' runs, in the order of the file, between where they are and the file
//
// Nothing is under way between two windows, and no range is locked. Messages make progress between two
// slices. On a course that does not wait slices are larger: each of them has to wait for a look of progress.
//
// Memory: the buffers of two slices, kept with the file. Thread safety: the process lock.
//
// Invariants:
//  1. A write changes bytes of parts alone, and never makes the file longer than they need.
//  2. After an error nothing more is moved.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "io/course/course.hpp"
#include "io/course/task.hpp"
#include "io/file/phase_times.hpp"
#include "io/plan/file_domains.hpp"
#include "io/shared/range_locks.hpp"
#include "io/two_phase/access_plan.hpp"
#include "io/view/file_map.hpp"
#include "storage/driver.hpp"

namespace tasuki {

/// Of a buffer: the bytes between two multiples of it.
inline constexpr Count kSliceBytes = 256 << 10;
inline constexpr Count kCarriedSliceBytes = 4 << 20;

/// What a rank has in a window.
struct WindowPart {
  const FileMap* map;
  PositionRange range;  // not empty
  std::byte* packed;    // the bytes of `range`, one behind the other; are only read by a write
};

class WindowMover {
 public:
  /// `place`: of the collective access.
  WindowMover(Course& course, File& file, const AccessPlan& plan, const PhasePlace& place);
  WindowMover(const WindowMover&) = delete;
  WindowMover& operator=(const WindowMover&) = delete;

  /// Writes `parts`, or reads them as far as the file goes: not beyond outcome().reached. They lie in
  /// `window`, may overlap, and are in the order of their ranks: in atomic mode the last one that writes a
  /// byte counts.
  Task move(Count cycle, const FileRange& window, std::span<const WindowPart> parts);

  const Outcome& outcome() const { return outcome_; }

 private:
  struct Slice {
    FileRange hull;     // from the first to the last byte that a part has
    Count bytes = 0;    // of all parts
    Count runs = 0;     // of all parts, about
    bool full = false;  // the hull has no holes; for reading: by the sum of the bytes
    std::vector<WindowPart> parts;
  };
  struct Writing {
    FileRange range;
    std::int64_t since_ns;
  };

  bool fills(std::span<const WindowPart> parts, const FileRange& hull);
  bool take_slice(Offset window_end);
  bool goes_by_runs() const;
  std::byte* next_buffer();
  Task write_buffered();
  Task read_buffered();
  Task fill_holes(std::byte* buffer);
  Task finish_write();
  Task move_runs();
  Task move_runs_of(std::span<const WindowPart> parts);
  Task move_pieces();
  void fail(int error, Offset offset);

  Course& course_;
  File& file_;
  const bool write_;
  const bool by_runs_;
  const double call_ns_;  // what a system call costs that moves a run alone
  const bool can_fill_holes_;
  const Count buffer_bytes_;  // two of them
  Count slice_bytes_;         // of a slice, at most; as many as a buffer has or fewer
  PhasePlace place_;
  Outcome outcome_;
  std::vector<WindowPart> rest_;  // of the window's parts: what no slice has had yet
  Count since_look_bytes_ = 0;    // of the file, since other things of progress had their turn
  bool rest_full_ = false;        // they cover the file from their first to their last byte
  Slice slice_;
  unsigned buffer_ = 0;             // that the last slice took
  std::optional<Writing> writing_;  // what is under way
  RangeLock lock_;                  // over `writing_`
  std::vector<FilePiece> pieces_;   // of a batch of runs
};

}  // namespace tasuki
