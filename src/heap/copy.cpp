// The extents of the file that hold something are read into fresh memory, which then takes the place of the
// shared memory in one step. Reading by pread() after the pages were made in one go takes 0.5 s per GiB, half
// of what faults on both sides take; huge pages take longer here.
#include "heap/copy.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tasuki::heap {
namespace {

constexpr int kPopulateWrite = 23;               // MADV_POPULATE_WRITE, younger than some headers
constexpr std::size_t kPieceBytes = 256 * 1024;  // stays in a cache between the kernel's two passes
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPagesAtOnce = 16 * 1024;

/// Makes the pages, so that a lack of memory is an error here and not a signal. Kernels before 5.14 cannot.
bool populate(std::byte* to, std::size_t bytes) {
  return madvise(to, bytes, kPopulateWrite) == 0 || errno == EINVAL;
}

bool read_all(int fd, std::byte* to, std::size_t bytes, std::uint64_t offset) {
  while (bytes > 0) {
    const ssize_t got = pread(fd, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

/// [from, to) of the file, `copy` being the place of offset 0 of `range`.
bool copy_extent(const SharedRange& range, int fd, std::byte* copy, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t at = from; at < to; at += kPieceBytes) {
    const std::size_t bytes = std::min<std::uint64_t>(kPieceBytes, to - at);
    std::byte* place = copy + (at - range.offset);
    if (!populate(place, bytes) || !read_all(fd, place, bytes, at)) return false;
  }
  return true;
}

bool copy_file(const SharedRange& range, int fd, std::byte* copy) {
  const std::uint64_t end = range.offset + range.bytes;
  for (std::uint64_t at = range.offset; at < end;) {
    const off_t data = lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0) return errno == ENXIO;  // nothing more
    const off_t hole = lseek(fd, data, SEEK_HOLE);
    if (hole < 0) return false;
    const std::uint64_t from = static_cast<std::uint64_t>(data);
    const std::uint64_t to = std::min(static_cast<std::uint64_t>(hole), end);
    if (from >= end) return true;
    if (!copy_extent(range, fd, copy, from, to)) return false;
    at = to;
  }
  return true;
}

/// Without the file: what is resident, page by page.
bool copy_memory(const SharedRange& range, std::byte* copy) {
  const auto* memory = reinterpret_cast<const std::byte*>(range.begin);
  static unsigned char resident[kPagesAtOnce];  // the child has one thread
  for (std::size_t at = 0; at < range.bytes; at += kPagesAtOnce * kPageBytes) {
    const std::size_t bytes = std::min(kPagesAtOnce * kPageBytes, range.bytes - at);
    if (mincore(const_cast<std::byte*>(memory) + at, bytes, resident) != 0) return false;
    for (std::size_t page = 0; page * kPageBytes < bytes; ++page) {
      if ((resident[page] & 1) == 0) continue;
      const std::size_t place = at + page * kPageBytes;
      if (!populate(copy + place, kPageBytes)) return false;
      std::memcpy(copy + place, memory + place, kPageBytes);
    }
  }
  return true;
}

}  // namespace

const char* make_private(const SharedRange& range, int fd) {
  void* fresh =
      mmap(nullptr, range.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fresh == MAP_FAILED) return "no address space for it";
  auto* copy = static_cast<std::byte*>(fresh);
  const bool copied = fd >= 0 ? copy_file(range, fd, copy) : copy_memory(range, copy);
  void* place = reinterpret_cast<void*>(range.begin);
  if (copied && mremap(fresh, range.bytes, range.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place) {
    return nullptr;
  }
  munmap(fresh, range.bytes);
  return "no memory for it";
}

}  // namespace tasuki::heap
