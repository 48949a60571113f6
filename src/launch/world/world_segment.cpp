// One memory file per job.
#include "launch/world/world_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/system/memory_file.hpp"
#include "base/system/random_number.hpp"
#include "launch/base/format.hpp"
#include "launch/options/options.hpp"
#include "node/processors.hpp"

namespace tasuki::launch {
namespace {

// The descriptor has the same number here and in the ranks, out of the way of scripts that use 3 to 9 and of
// programs that expect their first file at 3.
constexpr int kFdMin = 200;

int make_memory() {
  const int fd = make_memory_file(local::kSegmentName);
  if (fd < 0) return fd;
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, kFdMin);
  if (high < 0) return fd;  // few descriptors are allowed here: any number does
  close(fd);
  return high;
}

}  // namespace

bool WorldSegment::make(const std::vector<int>& applications, std::string* error,
                        const std::vector<int>& nodes, std::uint64_t job_id) {
  const auto size = static_cast<int>(applications.size());
  bytes_ = local::region_offset(size);
  fd_ = make_memory();
  void* memory = MAP_FAILED;
  if (fd_ >= 0 && set_memory_file_bytes(fd_, bytes_)) {
    fix_memory_file(fd_, true);  // the ranks add the link's region
    memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  }
  if (memory == MAP_FAILED) {
    *error = format("cannot get %zu bytes of shared memory: %s%s", bytes_, strerror(errno),
                    errno == EFBIG ? " (the limit of file sizes, ulimit -f)" : "");
    return false;
  }
  header_ = static_cast<local::JobHeader*>(memory);
  header_->magic = local::kJobMagic;
  header_->version = local::kJobVersion;
  header_->size = size_ = size;
  header_->processors_available = local::processors_available();
  header_->job_id = job_id != 0 ? job_id : random_number();
  header_->launcher_pid = static_cast<std::int32_t>(getpid());
  header_->applications = size > 0 ? applications.back() + 1 : 0;
  header_->ranks_offset = kPageBytes;
  header_->region_offset = bytes_;
  blocks_ = local::rank_blocks(header_);
  for (int rank = 0; rank < size; ++rank)
    blocks_[rank].application = applications[static_cast<std::size_t>(rank)];
  header_->nodes = 1;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    blocks_[rank].node = nodes[rank];
    header_->nodes = std::max(header_->nodes, nodes[rank] + 1);
  }
  return true;
}

bool WorldSegment::open(int pid, int fd, std::string* error) {
  error->clear();
  fd_ = open_memory_file(pid, fd, local::kSegmentName);
  struct stat info {};
  local::JobHeader header{};
  if (fd_ < 0 || fstat(fd_, &info) != 0 || pread(fd_, &header, sizeof header, 0) != sizeof header) {
    if (fd_ >= 0 || errno != ESTALE) *error = format("cannot open the job's memory: %s", strerror(errno));
    return false;
  }
  const bool readable = header.magic == local::kJobMagic && header.version == local::kJobVersion;
  const bool sized = readable && header.size > 0 && header.size <= kRanksMax && is_fixed_memory_file(fd_) &&
                     info.st_size >= static_cast<off_t>(local::region_offset(header.size));
  if (!sized) {
    *error = "its mpiexec is of another version: use the one of the same installation";
    return false;
  }
  const std::size_t bytes = local::region_offset(header.size);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) {
    *error = format("cannot map the job's memory: %s", strerror(errno));
    return false;
  }
  bytes_ = bytes;
  size_ = header.size;
  header_ = static_cast<local::JobHeader*>(memory);
  blocks_ = local::rank_blocks(header_);
  return true;
}

WorldSegment::~WorldSegment() {
  if (header_ != nullptr) munmap(header_, bytes_);
  if (fd_ >= 0) close(fd_);
}

}  // namespace tasuki::launch
