// MappedWriter: writes into a file that lies in memory (tmpfs) where several processes write to it at once.
//
// The system lets one process at a time write to a file; what is mapped it lets all write to. So a window of
// the file is mapped, and the system is asked to copy into it (process_vm_writev to this process itself): a
// page that cannot be had is then an error and no signal. What cannot be written this way is left to the
// calls of the system, which also know the reason. docs/io.md has the measurement.
//
// Ownership: the descriptor is the caller's. Thread safety: none.
#pragma once

#include <span>

#include "storage/driver.hpp"

namespace tasuki {

class MappedWriter {
 public:
  /// `fd`: open for reading and writing. `wanted`: several processes may write at once. Does nothing on
  /// other file systems.
  MappedWriter(int fd, bool wanted) : fd_(fd), usable_(wanted) {}

  /// Whether what ends at `end` may be written so.
  bool reaches(Offset end);
  /// Writes all pieces, and returns true; or returns false, and some of their bytes may have been written.
  bool write(std::span<const FilePiece> pieces);

 private:
  bool is_usable();
  bool pays(std::span<const FilePiece> pieces);
  bool write_window(Offset begin, Offset end, std::span<const FilePiece> pieces, Count skipped);

  const int fd_;
  bool usable_;             // as far as is known
  bool is_tested_ = false;  // whether the file system is known: it is asked when it first matters
};

}  // namespace tasuki
