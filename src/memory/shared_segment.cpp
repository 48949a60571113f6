// SharedSegment: the memory file, and how a descriptor of it is recognised.
#include "memory/shared_segment.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/system/memory_file.hpp"
#include "base/system/random_number.hpp"

namespace tasuki {
namespace {

constexpr char kName[] = "tasuki-segment";

/// What stands behind the segment's last page, so that its id can be read without mapping it.
struct Trailer {
  std::uint64_t magic;
  std::uint64_t id;
};
constexpr std::uint64_t kMagic = 0x7467656d67736b74;  // "tksgmegt"

std::string reason(const char* what, std::size_t bytes) {
  return std::string(what) + " " + std::to_string(bytes) + " bytes of shared memory: " + std::strerror(errno);
}

/// A memfd counts no memory before it is touched, so the kernel would grant anything. We refuse, as its own
/// heuristic does for private memory, what can never be there; and what the limit of file sizes forbids,
/// because growing a file beyond it raises a signal.
bool is_possible(std::size_t bytes, std::size_t file_bytes, std::string* error) {
  struct sysinfo machine {};
  if (sysinfo(&machine) == 0) {
    const std::uint64_t unit = machine.mem_unit;
    const std::uint64_t total = (machine.totalram + machine.totalswap) * unit;
    if (file_bytes > total) {
      *error = "cannot get " + std::to_string(bytes) + " bytes of shared memory: this machine has " +
               std::to_string(total) + " in all";
      return false;
    }
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      file_bytes > limit.rlim_cur) {
    *error = "cannot get " + std::to_string(bytes) +
             " bytes of shared memory: the limit of file sizes (ulimit -f) is " +
             std::to_string(limit.rlim_cur) + " bytes";
    return false;
  }
  return true;
}

std::byte* map(int fd, std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

bool is_segment(int fd, const SegmentAddress& address) {
  struct stat info {};
  Trailer trailer{};
  const std::size_t rounded = round_to_pages(address.bytes);
  if (rounded < address.bytes || rounded > INT64_MAX - sizeof trailer) return false;
  const auto end = static_cast<off_t>(rounded);
  return is_fixed_memory_file(fd) && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
         info.st_size == end + static_cast<off_t>(sizeof trailer) &&
         pread(fd, &trailer, sizeof trailer, end) == static_cast<ssize_t>(sizeof trailer) &&
         trailer.magic == kMagic && trailer.id == address.id;
}

}  // namespace

std::size_t page_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t round_to_pages(std::size_t bytes) {
  const std::size_t page = page_bytes();
  return (bytes + page - 1) / page * page;
}

std::unique_ptr<SharedSegment> SharedSegment::create(std::size_t bytes, std::string* error) {
  const std::size_t rounded = round_to_pages(bytes);
  if (bytes == 0 || rounded < bytes) {
    *error = "cannot get " + std::to_string(bytes) + " bytes of shared memory";
    return nullptr;
  }
  if (!is_possible(bytes, rounded + sizeof(Trailer), error)) return nullptr;
  const int fd = make_memory_file(kName);
  if (fd < 0) {
    *error = reason("cannot get", bytes);
    return nullptr;
  }
  const Trailer trailer{kMagic, random_number()};
  const auto end = static_cast<off_t>(rounded);
  std::byte* base = nullptr;
  const bool there = !is_in_shared_folder(fd) || set_memory_file_bytes(fd, rounded + sizeof trailer);
  if (there && pwrite(fd, &trailer, sizeof trailer, end) == static_cast<ssize_t>(sizeof trailer)) {
    fix_memory_file(fd, false);
    base = map(fd, rounded);
  }
  if (base == nullptr) {
    *error = reason("cannot get", bytes);
    close(fd);
    return nullptr;
  }
  const SegmentAddress address{static_cast<std::int32_t>(getpid()), fd, bytes, trailer.id};
  return std::unique_ptr<SharedSegment>(new SharedSegment(address, base, fd));
}

std::unique_ptr<SharedSegment> SharedSegment::open(const SegmentAddress& address, std::string* error) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", address.pid, address.fd);
  errno = ESTALE;
  const int fd = address.bytes != 0 ? open_memory_file(address.pid, address.fd, kName) : -1;
  if (fd < 0) {
    *error = errno == ESTALE ? std::string(path) + " is not the shared memory that it was"
                             : reason("cannot open", address.bytes) + " (" + path + ")";
    return nullptr;
  }
  std::byte* base = nullptr;
  if (!is_segment(fd, address)) {
    *error = std::string(path) + " is not the shared memory that it was";
  } else {
    base = map(fd, round_to_pages(address.bytes));
    if (base == nullptr) *error = reason("cannot map", address.bytes);
  }
  close(fd);
  if (base == nullptr) return nullptr;
  return std::unique_ptr<SharedSegment>(new SharedSegment(address, base, -1));
}

SharedSegment::~SharedSegment() {
  munmap(base_, round_to_pages(address_.bytes));
  stop_sharing();
}

void SharedSegment::stop_sharing() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

}  // namespace tasuki
