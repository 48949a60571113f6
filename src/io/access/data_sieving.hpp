// Data sieving: many short runs of a view by few long accesses to the file. What a window of the file holds
// is read as one piece, and the runs are picked out of it; or put into it, and the window is written back,
// under an exclusive lock on it (io/shared/range_locks.hpp), so that no bytes in its holes are lost.
//
// Windows begin and end at multiples of their size, but for what begins and ends with the data: nothing is
// written behind the last byte of the data. So the memory is that of one window, whatever the view.
//
// A window is sieved where that is cheaper than its runs one by one: sieving_pays().
//
// Ownership: the file keeps the window's memory. Thread safety: the process lock; memory is only used between
// two waits.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/types.hpp"
#include "io/file/file.hpp"
#include "io/view/file_map.hpp"
#include "storage/driver.hpp"

namespace tasuki {

/// What is known of a window's data, and of the file.
struct WindowShape {
  bool write = false;
  bool in_memory = false;  // the file
  bool contended = false;  // others write to the file, too
  Count runs = 0;          // about
  Count bytes = 0;         // of data
  Count extent = 0;        // from the first byte to the last one
};

/// Whether a window is cheaper as a whole than run by run. Pure.
bool sieving_pays(const WindowShape& shape);

class Sieve {
 public:
  ~Sieve() {
    if (buffer_.bytes() > file_.sieved.bytes()) std::swap(buffer_, file_.sieved);
  }
  Sieve(const Sieve&) = delete;
  Sieve& operator=(const Sieve&) = delete;

  /// Null where sieving is out of the question for `range` of the file's view: it is one run, or in no order;
  /// the hints disable it; or runs are too long for it to pay. REQUIRES: the access holds no lock on ranges,
  /// or `locked`: an exclusive one on all of its range.
  static std::unique_ptr<Sieve> make(File& file, bool write, bool locked, const PositionRange& range);

  /// As much of `range` as lies in the window that it begins in.
  PositionRange window_of(const PositionRange& range) const;
  bool pays(const PositionRange& window) const;

  /// Moves the data of one window between the file and `packed`. The bytes in `done` are those of data.
  /// Returns false, and has done nothing, where what is to be written over cannot be read.
  bool move(const PositionRange& window, std::byte* packed, TransferResult* done);

 private:
  Sieve(File& file, bool write, bool locked, HintSwitch wanted, Count window_bytes)
      : file_(file), write_(write), locked_(locked), wanted_(wanted), window_bytes_(window_bytes) {
    std::swap(buffer_, file.sieved);
  }

  FileRange extent_of(const PositionRange& window) const;
  TransferResult read(const PositionRange& window, const FileRange& extent, std::byte* packed);
  bool write(const PositionRange& window, const FileRange& extent, const std::byte* packed,
             TransferResult* done);

  File& file_;
  const bool write_;
  const bool locked_;
  const HintSwitch wanted_;
  const Count window_bytes_;
  ReusedBuffer buffer_;  // the file's, as long as this one lives: other threads may sieve it, too
};

}  // namespace tasuki
