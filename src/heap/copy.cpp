// The extents of the file that hold something are read into fresh memory, which then takes the place of the
// shared memory in one step. Reading by pread() after the pages were made in one go takes 0.5 s per GiB, half
// of what faults on both sides take; huge pages take longer here. Of a large heap helpers copy parts, if
// there are processors for them.
#include "heap/copy.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace tasuki::heap {
namespace {

constexpr int kPopulateWrite = 23;               // MADV_POPULATE_WRITE, younger than some headers
constexpr std::size_t kPieceBytes = 256 * 1024;  // stays in a cache between the kernel's two passes
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPagesAtOnce = 16 * 1024;
constexpr std::uint64_t kShareBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kBytesForHelper = std::uint64_t{64} << 20;  // a helper takes 0.1 ms to start
constexpr int kHelpersMax = 7;
constexpr std::size_t kHelperStackBytes = 64 * 1024;

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

/// The copy of a file, shared by those who work at it.
struct FileCopy {
  const SharedRange& range;
  const int fd;
  std::byte* const copy;
  std::uint64_t next;      // in the file: what lies before it somebody has taken. Guarded by `busy`
  std::uint64_t hole = 0;  // there is data from `next` up to here, if that is more; likewise
  std::atomic<bool> busy{false};
  std::atomic<bool> failed{false};
};

enum class Found : std::uint8_t { kData, kNothing, kError };

/// The next part of the file that holds something, kShareBytes at most.
Found find_data(FileCopy& work, std::uint64_t* from, std::uint64_t* to) {
  const std::uint64_t end = work.range.offset + work.range.bytes;
  if (work.next >= end) return Found::kNothing;
  if (work.next >= work.hole) {  // to find a hole the kernel looks at each page before it
    const off_t data = lseek(work.fd, static_cast<off_t>(work.next), SEEK_DATA);
    if (data < 0) return errno == ENXIO ? Found::kNothing : Found::kError;
    const off_t hole = lseek(work.fd, data, SEEK_HOLE);
    if (hole < 0) return Found::kError;
    work.next = static_cast<std::uint64_t>(data);
    work.hole = std::min(static_cast<std::uint64_t>(hole), end);
    if (work.next >= end) return Found::kNothing;
  }
  *from = work.next;
  *to = work.next = std::min(work.hole, *from + kShareBytes);
  return Found::kData;
}

/// Copies what nobody else has taken, until nothing is left.
int take_part(void* argument) {
  auto& work = *static_cast<FileCopy*>(argument);
  Found found = Found::kData;
  while (found == Found::kData && !work.failed.load(std::memory_order_relaxed)) {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    while (work.busy.exchange(true, std::memory_order_acquire)) sched_yield();
    found = find_data(work, &from, &to);
    work.busy.store(false, std::memory_order_release);
    const bool done = found != Found::kError &&
                      (found == Found::kNothing || copy_extent(work.range, work.fd, work.copy, from, to));
    if (!done) work.failed.store(true, std::memory_order_relaxed);
  }
  return 0;
}

/// Helpers are worth it for large heaps, where this process has more processors than one.
int helpers_for(int fd) {
  struct stat file;
  cpu_set_t processors;
  if (fstat(fd, &file) != 0 || sched_getaffinity(0, sizeof processors, &processors) != 0) return 0;
  const auto shares = static_cast<std::uint64_t>(file.st_blocks) * 512 / kBytesForHelper;
  return static_cast<int>(std::min<std::uint64_t>(
      {shares, static_cast<std::uint64_t>(CPU_COUNT(&processors) - 1), std::uint64_t{kHelpersMax}}));
}

/// The helpers are processes that share this one's memory and descriptors: a thread would need libc, which is
/// not in order yet. They make system calls only, and end before this returns.
bool copy_file(const SharedRange& range, int fd, std::byte* copy) {
  FileCopy work{range, fd, copy, range.offset};
  const int helpers = helpers_for(fd);
  const std::size_t room_bytes = static_cast<std::size_t>(helpers) * kHelperStackBytes;
  void* stacks = helpers > 0
                     ? mmap(nullptr, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                     : MAP_FAILED;
  pid_t started[kHelpersMax];
  int count = 0;
  for (int i = 0; i < helpers && stacks != MAP_FAILED; ++i) {
    auto* stack_end = static_cast<std::byte*>(stacks) + static_cast<std::size_t>(i + 1) * kHelperStackBytes;
    started[count] = clone(take_part, stack_end, CLONE_VM | CLONE_FILES, &work);
    if (started[count] > 0) ++count;
  }
  take_part(&work);
  bool done = !work.failed.load(std::memory_order_relaxed);
  for (int i = 0; i < count; ++i) {
    int status = -1;
    while (waitpid(started[i], &status, __WALL) < 0 && errno == EINTR) {
    }
    done = done && status == 0;
  }
  if (stacks != MAP_FAILED) munmap(stacks, room_bytes);
  return done && !work.failed.load(std::memory_order_relaxed);
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
