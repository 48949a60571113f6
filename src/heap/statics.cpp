// Finding the pages, copying what is in them, and mapping the copy in their place.
#include "heap/statics.hpp"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

namespace tasuki::heap {
namespace {

constexpr std::size_t kEntriesAtOnce = 512;
constexpr std::uint64_t kPresentOrSwapped = std::uint64_t{3} << 62;

/// The largest writable segment, and what is protected, of the first object: the main program.
struct Found {
  Segment writable;
  Segment relro;
};

Segment segment_of(const dl_phdr_info& object, const ElfW(Phdr) & header) {
  return {object.dlpi_addr + header.p_vaddr, header.p_memsz, header.p_filesz};
}

int look_at_first(dl_phdr_info* object, std::size_t, void* result) {
  auto* found = static_cast<Found*>(result);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type == PT_GNU_RELRO) found->relro = segment_of(*object, header);
    const bool writable = header.p_type == PT_LOAD && (header.p_flags & PF_W) != 0;
    if (writable && (header.p_flags & PF_X) == 0 && header.p_memsz > found->writable.memory_bytes) {
      found->writable = segment_of(*object, header);
    }
  }
  return 1;
}

/// Copies the pages of [from, from + bytes) that were written to: the others are zero.
bool copy_written(std::byte* to, std::uintptr_t from, std::size_t bytes) {
  const auto page_bytes = static_cast<std::size_t>(getpagesize());
  const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (map < 0) return false;
  std::uint64_t entries[kEntriesAtOnce];
  const std::size_t pages = bytes / page_bytes;
  bool good = true;
  for (std::size_t page = 0; page < pages && good; page += kEntriesAtOnce) {
    const std::size_t count = pages - page < kEntriesAtOnce ? pages - page : kEntriesAtOnce;
    const auto at = static_cast<off_t>((from / page_bytes + page) * sizeof entries[0]);
    const auto wanted = static_cast<ssize_t>(count * sizeof entries[0]);
    good = pread(map, entries, static_cast<std::size_t>(wanted), at) == wanted;
    for (std::size_t i = 0; i < count && good; ++i) {
      if ((entries[i] & kPresentOrSwapped) == 0) continue;
      const std::size_t place = (page + i) * page_bytes;
      std::memcpy(to + place, reinterpret_cast<const void*>(from + place), page_bytes);
    }
  }
  close(map);
  return good;
}

}  // namespace

StaticData pages_of(const Segment& writable, const Segment& relro, std::size_t page_bytes) {
  const auto down = [page_bytes](std::uintptr_t address) { return address & ~(page_bytes - 1); };
  const auto up = [&](std::uintptr_t address) { return down(address + page_bytes - 1); };
  std::uintptr_t begin = down(writable.begin);
  const std::uintptr_t end = up(writable.begin + writable.memory_bytes);
  if (relro.memory_bytes != 0 && relro.begin < end && up(relro.begin + relro.memory_bytes) > begin) {
    begin = up(relro.begin + relro.memory_bytes);
  }
  const std::uintptr_t file_end = up(writable.begin + writable.file_bytes);
  if (writable.memory_bytes == 0 || begin >= end) return {};
  return {begin, end - begin, file_end > begin ? file_end - begin : 0};
}

StaticData find_static_data() {
  Found found;
  dl_iterate_phdr(look_at_first, &found);
  const StaticData data = pages_of(found.writable, found.relro, static_cast<std::size_t>(getpagesize()));
  return data.bytes >= kStaticBytesMin ? data : StaticData{};
}

bool move_static_data(const StaticData& data, int fd, std::uint64_t offset, std::byte* window) {
  if (data.bytes == 0 || !__libc_single_threaded) return false;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler may write to what is being copied
  std::memcpy(window, reinterpret_cast<const void*>(data.begin), data.file_bytes);
  bool moved =
      copy_written(window + data.file_bytes, data.begin + data.file_bytes, data.bytes - data.file_bytes);
  if (moved) {
    void* place = reinterpret_cast<void*>(data.begin);
    moved = mmap(place, data.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
                 static_cast<off_t>(offset)) == place;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return moved;
}

}  // namespace tasuki::heap
