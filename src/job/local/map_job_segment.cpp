// Finding, checking and claiming: every descriptor is distrusted until it shows the job's magic and number.
#include "job/local/map_job_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/system/memory_file.hpp"
#include "base/system/process_state.hpp"

namespace tasuki::local {
namespace {

bool read_number(const char* name, int base, std::uint64_t value_max, std::uint64_t* value,
                 std::string* error) {
  const char* text = std::getenv(name);
  if (text == nullptr) {
    *error = std::string(name) + " is not set although other variables of mpiexec are";
    return false;
  }
  char* end = nullptr;
  errno = 0;
  *value = std::strtoull(text, &end, base);
  if (end != text && *end == '\0' && errno == 0 && text[0] != '-' && *value <= value_max) return true;
  *error = std::string(name) + " = \"" + text + "\", expected a number that mpiexec set";
  return false;
}

enum class Found { kJob, kOtherVersion, kNothing };

/// Looks at a descriptor without changing anything: it may be any file of the program's.
Found inspect(int fd, const JobAddress& address) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_size < static_cast<off_t>(sizeof(JobHeader))) {
    return Found::kNothing;
  }
  alignas(JobHeader) std::byte bytes[sizeof(JobHeader)];
  if (pread(fd, bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) return Found::kNothing;
  const auto* header = reinterpret_cast<const JobHeader*>(bytes);
  if (header->magic != kJobMagic) return Found::kNothing;
  if (header->version != kJobVersion) return Found::kOtherVersion;
  const bool same = header->job_id == address.job_id && header->size == address.size &&
                    header->ranks_offset == kPageBytes &&
                    header->region_offset == region_offset(address.size) && is_fixed_memory_file(fd) &&
                    info.st_size >= static_cast<off_t>(region_offset(address.size));
  return same ? Found::kJob : Found::kNothing;
}

/// A descriptor of the segment, close-on-exec, or -1.
int find_segment(const JobAddress& address, std::string* error) {
  Found found = inspect(address.fd, address);
  if (found == Found::kJob) {
    fcntl(address.fd, F_SETFD, FD_CLOEXEC);
    return address.fd;
  }
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", address.launcher_pid, address.fd);
  const int fd =
      found == Found::kNothing ? open_memory_file(address.launcher_pid, address.fd, kSegmentName) : -1;
  const int reason = errno;
  if (fd >= 0) {
    found = inspect(fd, address);
    if (found == Found::kJob) return fd;
    close(fd);
  }
  if (found == Found::kOtherVersion) {
    *error =
        "this program's Tasuki library and the mpiexec that started it are of different versions; use the "
        "mpiexec of the same installation";
  } else if (fd < 0 && reason != ESTALE) {
    *error = std::string("cannot reach the job's memory: descriptor ") + std::to_string(address.fd) +
             " was closed on the way here, and " + path + ": " + std::strerror(reason);
  } else {
    *error = std::string("the job that this environment names (mpiexec pid ") +
             std::to_string(address.launcher_pid) + ") is over";
  }
  return -1;
}

/// Becomes the rank; or reports which process is that rank.
bool claim(const JobAddress& address, RankBlock& block, std::string* error) {
  std::int32_t nobody = 0;
  const auto self = static_cast<std::int32_t>(getpid());
  if (block.claimed_pid.compare_exchange_strong(nobody, self, std::memory_order_seq_cst)) {
    const ProcessIdentity own = ProcessIdentity::own();
    block.start_ticks.store(own.start_ticks, std::memory_order_relaxed);
    block.numbering.store(own.numbering, std::memory_order_release);
    block.life.store(Life::kJoined, std::memory_order_release);
    return true;
  }
  const std::string rank = "rank " + std::to_string(address.rank);
  const std::string remedy =
      " (a program that a rank starts inherits the rank's environment: start it with TASUKI_SINGLETON=1 to "
      "run "
      "it alone, or by an mpiexec of its own)";
  if (nobody == self) {
    *error = rank + " was already initialised in this process, and can be only once";
  } else if (block.life.load(std::memory_order_acquire) == Life::kFinalized) {
    *error =
        rank + " of this job was process " + std::to_string(nobody) + ", which has finalised MPI" + remedy;
  } else {
    *error =
        rank + " of this job is process " + std::to_string(nobody) + ", so this one cannot be it" + remedy;
  }
  return false;
}

}  // namespace

bool started_by_mpiexec() {
  return std::getenv(kJobIdName) != nullptr || std::getenv(kJobFdName) != nullptr;
}

bool read_address(JobAddress* address, std::string* error) {
  std::uint64_t fd = 0;
  std::uint64_t pid = 0;
  std::uint64_t rank = 0;
  std::uint64_t size = 0;
  if (!read_number(kJobFdName, 10, INT_MAX, &fd, error) ||
      !read_number(kJobPidName, 10, INT_MAX, &pid, error) ||
      !read_number(kJobIdName, 16, UINT64_MAX, &address->job_id, error) ||
      !read_number(kSizeName, 10, INT_MAX, &size, error) ||
      !read_number(kRankName, 10, INT_MAX, &rank, error)) {
    return false;
  }
  if (rank >= size) {
    *error = std::string(kRankName) + " = " + std::to_string(rank) + ", expected less than " + kSizeName +
             " = " + std::to_string(size);
    return false;
  }
  address->fd = static_cast<int>(fd);
  address->launcher_pid = static_cast<int>(pid);
  address->rank = static_cast<int>(rank);
  address->size = static_cast<int>(size);
  return true;
}

bool map_job_segment(const JobAddress& address, MappedJob* mapped, std::string* error) {
  const int fd = find_segment(address, error);
  if (fd < 0) return false;
  void* memory = mmap(nullptr, region_offset(address.size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    *error = std::string("cannot map the job's memory: ") + std::strerror(errno);
    return false;
  }
  auto* header = static_cast<JobHeader*>(memory);
  RankBlock* blocks = rank_blocks(header);
  if (!claim(address, blocks[address.rank], error)) {
    munmap(memory, region_offset(address.size));
    return false;
  }
  *mapped = {fd, header, blocks, address.rank, address.size};
  return true;
}

}  // namespace tasuki::local
