// Publishing the own symmetric heap, and mapping those of others.
#include "memory/mapped_heaps.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/system/memory_file.hpp"
#include "memory/heap_library.hpp"
#include "memory/shared_segment.hpp"

namespace tasuki {
namespace {

/// Whether the file is as its maker left it: a memfd that cannot shrink, or a file of a tmpfs, which takes no
/// seals.
bool is_as_made(int fd, const char* target) {
  return is_memfd_name(target) ? is_fixed_memory_file(fd) : fcntl(fd, F_GET_SEALS) == F_SEAL_SEAL;
}

/// Whether `fd` is the memory that was named: descriptors and process numbers are used again.
bool is_symmetric_heap(int fd, std::uint64_t id, std::uint64_t bytes) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || static_cast<std::uint64_t>(info.st_size) != bytes)
    return false;
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  char target[96] = "";
  char name[64];
  if (readlink(path, target, sizeof target - 1) < 0) return false;
  std::snprintf(name, sizeof name, "%s%016llx", kSymmetricHeapName, static_cast<unsigned long long>(id));
  return is_memory_file_name(target, name) && is_as_made(fd, target);
}

/// At its own address or nowhere. Peers' memory belongs neither in core dumps nor in children.
bool map_at(std::uint64_t base, std::uint64_t bytes, int fd) {
  void* place = reinterpret_cast<void*>(base);
  void* memory =
      mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
  if (memory == MAP_FAILED) return false;
  if (memory != place) {  // a kernel that does not know MAP_FIXED_NOREPLACE
    munmap(memory, bytes);
    return false;
  }
  madvise(memory, bytes, MADV_DONTDUMP);
  madvise(memory, bytes, MADV_DONTFORK);
  return true;
}

}  // namespace

MappedHeaps::MappedHeaps(int rank, const std::vector<OfRank>& heaps, HeapInterface* heap)
    : SymmetricHeap(rank), peers_(static_cast<std::size_t>(heaps.back().rank) + 1), heap_(heap) {
  for (const OfRank& one : heaps) {
    ranks_.push_back(one.rank);
    peers_[static_cast<std::size_t>(one.rank)].published = one.heap;
  }
  if (heap_ != nullptr && heap_->fd >= 0) publish();
}

MappedHeaps::~MappedHeaps() {
  for (const int rank : ranks_) {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (peer.mapped.bytes != 0) munmap(reinterpret_cast<void*>(peer.mapped.begin), peer.mapped.bytes);
  }
}

/// Only what others can open: a program may have closed the descriptor.
void MappedHeaps::publish() {
  PublishedHeap& own = *peers_[static_cast<std::size_t>(self_)].published;
  if (!is_symmetric_heap(heap_->fd, heap_->id, heap_->bytes)) return;
  own.pid = static_cast<std::int32_t>(getpid());
  own.fd = heap_->fd;
  own.id = heap_->id;
  own.base = heap_->base;
  own.bytes = heap_->bytes;
  own.is_there.store(1, std::memory_order_release);
  own_ = {.begin = heap_->base, .bytes = heap_->bytes};
  static_ = {.begin = heap_->static_begin, .bytes = heap_->static_bytes};
  static_at_ = heap_->static_at;
}

bool MappedHeaps::reaches(int endpoint, SymmetricAddress address, std::size_t bytes) {
  if (endpoint == self_) return own_.holds(address, bytes);
  if (static_cast<std::size_t>(endpoint) >= peers_.size()) return false;
  Peer& peer = peers_[static_cast<std::size_t>(endpoint)];
  if (peer.mapped.bytes == 0 && peer.published != nullptr) [[unlikely]]
    map(peer);
  return peer.mapped.holds(address, bytes);
}

bool MappedHeaps::is_sound(const Place& symmetric_heap) const {
  const std::uint64_t room = kSymmetricHeapLimit - kSymmetricHeapBase;
  return symmetric_heap.pid > 0 && symmetric_heap.fd >= 0 && symmetric_heap.bytes > 0 &&
         symmetric_heap.bytes <= room && symmetric_heap.base >= kSymmetricHeapBase &&
         symmetric_heap.base - kSymmetricHeapBase <= room - symmetric_heap.bytes &&
         symmetric_heap.base % page_bytes() == 0 && symmetric_heap.bytes % page_bytes() == 0;
}

void MappedHeaps::map(Peer& peer) {
  const PublishedHeap& published = *peer.published;
  if (published.is_there.load(std::memory_order_acquire) == 0) return;  // it may come yet
  const Place symmetric_heap{published.pid, published.fd, published.id, published.base, published.bytes};
  peer.published = nullptr;
  if (!is_sound(symmetric_heap)) return;
  const int fd = open_memory_file(symmetric_heap.pid, symmetric_heap.fd, kSymmetricHeapName);
  if (fd < 0) return;
  if (is_symmetric_heap(fd, symmetric_heap.id, symmetric_heap.bytes) &&
      map_at(symmetric_heap.base, symmetric_heap.bytes, fd)) {
    peer.mapped = {.begin = symmetric_heap.base, .bytes = symmetric_heap.bytes};
  }
  close(fd);
}

/// The symmetric heap of a rank whose malloc is private is made at the first request for symmetric
/// memory.
bool MappedHeaps::open_own() {
  if (own_.bytes != 0) return true;
  if (own_failed_ || ranks_.size() < 2) return false;
  own_failed_ = true;
  if (heap_ == nullptr) heap_ = find_or_load_heap();
  const char* reason = nullptr;
  if (heap_ == nullptr || heap_->open(&reason) != 0) return false;
  publish();
  own_failed_ = own_.bytes == 0;
  return !own_failed_;
}

void* MappedHeaps::allocate(std::size_t bytes, std::size_t alignment) {
  void* memory = open_own() ? heap_->allocate(bytes, alignment) : nullptr;
  return memory != nullptr ? memory : SymmetricHeap::allocate(bytes, alignment);
}

void MappedHeaps::deallocate(void* memory) {
  if (own_.holds(reinterpret_cast<std::uint64_t>(memory), 1)) {
    heap_->deallocate(memory);
  } else {
    SymmetricHeap::deallocate(memory);
  }
}

}  // namespace tasuki
