// The memfd, its descriptor and its mapping.
#include "heap/symmetric_heap.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "base/system/memory_file.hpp"
#include "heap/choice/huge_file.hpp"
#include "heap/choice/rules.hpp"
#include "heap/interface.hpp"

namespace tasuki::heap {
namespace {

static_assert(kSymmetricHeapLimit <= kHeapAddressEnd);

constexpr std::uint64_t kSlotBytesMin = std::uint64_t{1} << 32;  // less is not worth it

/// Programs take the lowest descriptors for theirs, count on 0 to 2, and shells like 10 and 255. Far above
/// would make the kernel's table large.
int move_out_of_the_way(int fd) {
  constexpr rlim_t kHigh = 1000;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return fd;
  const rlim_t lowest = limit.rlim_cur > kHigh + 8 ? kHigh : limit.rlim_cur / 2;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(lowest));
  if (moved < 0) return fd;
  close(fd);
  return moved;
}

/// Not a file in /dev/shm: that has its memory at once.
int make_memory(std::uint64_t id, bool huge) {
  char name[sizeof kSymmetricHeapName + 16];
  std::snprintf(name, sizeof name, "%s%016llx", kSymmetricHeapName, static_cast<unsigned long long>(id));
  const int fd = huge ? make_huge_file(name) : -1;
  return fd >= 0 ? fd : make_memfd(name);
}

/// Out of core dumps, and so also its part for static data, which has its place there (heap/core.hpp).
bool map(const Slot& slot, int fd) {
  void* place = reinterpret_cast<void*>(slot.base);
  void* memory = mmap(place, slot.bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
  if (memory == MAP_FAILED) return false;
  if (memory != place) {  // a kernel that does not know MAP_FIXED_NOREPLACE
    munmap(memory, slot.bytes);
    return false;
  }
  madvise(memory, slot.bytes, MADV_DONTDUMP);
  return true;
}

}  // namespace

Slot heap_slot(int rank, int ranks, std::uint64_t memory_bytes) {
  const std::uint64_t all = kSymmetricHeapLimit - kSymmetricHeapBase;
  if (rank < 0 || ranks < 1 || rank >= ranks) return {};
  const std::uint64_t bytes_max = std::bit_floor(all / static_cast<std::uint64_t>(ranks));
  const std::uint64_t wanted = std::bit_ceil(std::min(2 * memory_bytes, all));
  const std::uint64_t bytes = std::min(std::max(wanted, kSlotBytesMin), bytes_max);
  if (bytes < kSlotBytesMin / 4) return {};
  return {kSymmetricHeapBase + static_cast<std::uint64_t>(rank) * bytes, bytes};
}

std::uint64_t machine_memory_bytes() {
  struct sysinfo machine {};
  if (sysinfo(&machine) != 0) return 0;
  return (std::uint64_t{machine.totalram} + machine.totalswap) * machine.mem_unit;
}

bool lay_symmetric_heap(const Slot& slot, bool huge, HeapFile* file, const char** reason) {
  if (slot.bytes == 0) {
    *reason = "the address space has no room for the symmetric heaps of so many ranks";
    return false;
  }
  if (!may_be_as_large(slot.bytes)) {
    *reason = "the limit of file sizes (ulimit -f) forbids shared memory";
    return false;
  }
  std::uint64_t id = 0;
  if (getrandom(&id, sizeof id, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof id)) {
    id = static_cast<std::uint64_t>(getpid()) * 0x9e3779b97f4a7c15u;
  }
  const int fd = make_memory(id, huge);
  if (fd < 0) {
    *reason = "the kernel gives no shared memory (memfd_create)";
    return false;
  }
  if (ftruncate(fd, static_cast<off_t>(slot.bytes)) != 0 || !map(slot, fd)) {
    *reason = "shared memory cannot be mapped at the place that is meant for it";
    close(fd);
    return false;
  }
  // No peer shall be made to touch what is not there. (A file in a tmpfs takes no seals.)
  fix_memory_file(fd, false);
  *file = {move_out_of_the_way(fd), id};
  return true;
}

}  // namespace tasuki::heap
