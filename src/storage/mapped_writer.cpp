// Writing through mapped windows: see mapped_writer.hpp.
#include "storage/mapped_writer.hpp"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "storage/file_system.hpp"

namespace tasuki {
namespace {

constexpr Offset kWindowBytes = Offset{1} << 20;  // mapped at a time; a multiple of any page
constexpr std::size_t kVectorsMax = 512;          // in one call

// Mapping takes a few microseconds, and each piece some tenths of one: so much is to be moved for it.
constexpr Count kBytesMin = 128 << 10;
constexpr Count kMeanPieceBytesMin = 2 << 10;

bool can_be_mapped(int fd) {
  return file_system_of(fd) == TMPFS_MAGIC && sysconf(_SC_PAGESIZE) <= kWindowBytes;
}

}  // namespace

bool MappedWriter::is_usable() {
  if (usable_ && !is_tested_) {
    is_tested_ = true;
    usable_ = can_be_mapped(fd_);
  }
  return usable_;
}

/// Long pieces that ascend, within the file as it is: nothing else is mapped.
bool MappedWriter::pays(std::span<const FilePiece> pieces) {
  Count bytes = 0;
  Offset end = 0;
  for (const FilePiece& piece : pieces) {
    if (piece.offset < end) return false;
    end = piece.offset + piece.bytes;
    bytes += piece.bytes;
  }
  if (bytes < kBytesMin || bytes / static_cast<Count>(pieces.size()) < kMeanPieceBytesMin) return false;
  return reaches(end);
}

bool MappedWriter::reaches(Offset end) {
  struct stat status;
  return is_usable() && fstat(fd_, &status) == 0 && end <= status.st_size;
}

bool MappedWriter::write(std::span<const FilePiece> pieces) {
  if (!usable_ || !pays(pieces)) return false;
  Count skipped = 0;  // of the first piece
  while (!pieces.empty()) {
    const Offset first = pieces.front().offset + skipped;
    const Offset begin = first / kWindowBytes * kWindowBytes;
    std::size_t count = 1;
    while (count < pieces.size() && count < kVectorsMax && pieces[count].offset < begin + kWindowBytes)
      ++count;
    const FilePiece& last = pieces[count - 1];
    const Offset end = std::min(begin + kWindowBytes, last.offset + last.bytes);
    if (!write_window(first, end, pieces.first(count), skipped)) return false;
    const bool is_over = last.offset + last.bytes == end;
    skipped = is_over ? 0 : end - last.offset;
    pieces = pieces.subspan(is_over ? count : count - 1);
  }
  return true;
}

/// What the pieces have in [begin, end), which lies in one window; without the first `skipped` bytes.
bool MappedWriter::write_window(Offset begin, Offset end, std::span<const FilePiece> pieces, Count skipped) {
  const Offset aligned = begin / sysconf(_SC_PAGESIZE) * sysconf(_SC_PAGESIZE);
  const auto mapped_bytes = static_cast<std::size_t>(end - aligned);
  void* window = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, aligned);
  if (window == MAP_FAILED) {
    usable_ = errno == ENOMEM;  // the file was opened otherwise, or sealed, or the like
    return false;
  }
  std::array<iovec, kVectorsMax> from;
  std::array<iovec, kVectorsMax> to;
  std::size_t count = 0;
  Count bytes = 0;
  for (const FilePiece& piece : pieces) {
    const Offset offset = piece.offset + skipped;
    const Count here = std::min(piece.offset + piece.bytes, end) - offset;
    from[count] = {piece.memory + skipped, static_cast<std::size_t>(here)};
    to[count] = {static_cast<std::byte*>(window) + (offset - aligned), static_cast<std::size_t>(here)};
    bytes += here;
    skipped = 0;
    ++count;
  }
  const ssize_t moved = process_vm_writev(getpid(), from.data(), count, to.data(), count, 0);
  if (moved < 0 && (errno == EPERM || errno == ENOSYS)) usable_ = false;
  munmap(window, mapped_bytes);
  return moved == bytes;
}

}  // namespace tasuki
