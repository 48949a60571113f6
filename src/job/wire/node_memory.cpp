// Making, opening, mapping.
#include "job/wire/node_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/system/memory_file.hpp"
#include "base/system/random_number.hpp"
#include "job/value_table.hpp"
#include "job/wire/lineage.hpp"

namespace tasuki::wire {
namespace {

/// Makes the file at least that large; another rank may have made it larger, and may do so meanwhile.
bool grow(int fd, std::size_t bytes) {
  struct stat info {};
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (fstat(fd, &info) == 0 && static_cast<std::size_t>(info.st_size) >= bytes) return true;
    if (set_memory_file_bytes(fd, bytes)) return true;
  }
  return false;
}

std::string cannot_get(std::size_t bytes) {
  return "cannot get " + std::to_string(bytes) + " bytes of shared memory: " + std::strerror(errno) +
         (errno == EFBIG ? " (the limit of file sizes, ulimit -f)" : "");
}

}  // namespace

NodeMemory::~NodeMemory() {
  if (region_.base != nullptr) munmap(region_.base, region_.bytes);
  if (base_ != nullptr) munmap(base_, bytes_);
  if (fd_ >= 0) close(fd_);
}

bool NodeMemory::make(RankCard* card, std::string* error) {
  card->memory_id = random_number();
  fd_ = make_memory_file(kNodeMemoryName);
  if (fd_ < 0 || !set_memory_file_bytes(fd_, kPageBytes) ||
      pwrite(fd_, &card->memory_id, sizeof card->memory_id, 0) != sizeof card->memory_id) {
    *error = cannot_get(kPageBytes);
    return false;
  }
  fix_memory_file(fd_, true);
  card->memory_fd = fd_;
  return true;
}

bool NodeMemory::open(const RankCard& card) {
  const int fd = open_memory_file(card.process.pid, card.memory_fd, kNodeMemoryName);
  std::uint64_t id = 0;
  if (fd >= 0 && is_fixed_memory_file(fd) && pread(fd, &id, sizeof id, 0) == sizeof id &&
      id == card.memory_id) {
    void* const page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED) {
      munmap(page, kPageBytes);
      close(std::exchange(fd_, fd));
      return true;
    }
  }
  if (fd >= 0) close(fd);
  return false;
}

bool NodeMemory::map(int ranks, int values, std::string* error) {
  values_at_ = kPageBytes + round_to_page(static_cast<std::size_t>(ranks) * sizeof(RankPart));
  bytes_ = values_at_ + round_to_page(ValueTable::bytes_needed(values));
  void* memory = MAP_FAILED;
  if (grow(fd_, bytes_)) memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) {
    *error = cannot_get(bytes_);
    return false;
  }
  madvise(memory, bytes_, MADV_DONTDUMP);
  base_ = static_cast<std::byte*>(memory);
  header_ = reinterpret_cast<NodeHeader*>(base_);
  return true;
}

RankPart& NodeMemory::part(int number) {
  return reinterpret_cast<RankPart*>(base_ + kPageBytes)[number];
}

bool NodeMemory::map_region(std::size_t bytes, std::string* error) {
  std::uint64_t agreed = 0;
  if (!header_->region_bytes.compare_exchange_strong(agreed, bytes, std::memory_order_acq_rel) &&
      agreed != bytes) {
    *error = "this rank wants " + std::to_string(bytes) + " bytes of shared memory where another wants " +
             std::to_string(agreed) + "; TASUKI_RING_BYTES must be the same for all ranks";
    return false;
  }
  void* memory = MAP_FAILED;
  if (grow(fd_, bytes_ + bytes)) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_,
                  static_cast<off_t>(bytes_));
  }
  if (memory == MAP_FAILED) {
    *error = cannot_get(bytes);
    return false;
  }
  // The kernel would dump it whole, and make the pages that were never touched.
  madvise(memory, bytes, MADV_DONTDUMP);
  region_ = {static_cast<std::byte*>(memory), bytes, fd_, bytes_};
  return true;
}

}  // namespace tasuki::wire
