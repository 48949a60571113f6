// Publishing the own arena, and mapping those of others.
#include "memory/arena_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/system/memory_file.hpp"
#include "memory/heap.hpp"
#include "memory/shared_segment.hpp"

namespace tasuki {
namespace {

/// Whether `fd` is the memory that was named: descriptors and process numbers are used again.
bool is_arena(int fd, std::uint64_t id, std::uint64_t bytes) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || static_cast<std::uint64_t>(info.st_size) != bytes)
    return false;
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  char name[64] = "";
  char expected[64];
  if (readlink(path, name, sizeof name - 1) < 0) return false;
  const int length = std::snprintf(expected, sizeof expected, "/memfd:%s%016llx", kArenaName,
                                   static_cast<unsigned long long>(id));
  return std::strncmp(name, expected, static_cast<std::size_t>(length)) == 0;
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

ArenaMemory::ArenaMemory(int rank, std::vector<PublishedArena*> arenas, HeapInterface* heap)
    : GlobalMemory(rank), arenas_(std::move(arenas)), peers_(arenas_.size()), heap_(heap) {
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) peers_[peer].refused = arenas_[peer] == nullptr;
  if (heap_ != nullptr && heap_->fd >= 0) publish();
}

ArenaMemory::~ArenaMemory() {
  for (const Peer& peer : peers_) {
    if (peer.mapped.bytes != 0) munmap(reinterpret_cast<void*>(peer.mapped.begin), peer.mapped.bytes);
  }
}

/// Only what others can open: a program may have closed the descriptor.
void ArenaMemory::publish() {
  PublishedArena& own = *arenas_[static_cast<std::size_t>(self_)];
  if (!is_arena(heap_->fd, heap_->id, heap_->bytes)) return;
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

bool ArenaMemory::reaches(int endpoint, GlobalAddress address, std::size_t bytes) {
  if (endpoint == self_) return own_.holds(address, bytes);
  if (static_cast<std::size_t>(endpoint) >= peers_.size()) return false;
  Peer& peer = peers_[static_cast<std::size_t>(endpoint)];
  if (peer.mapped.bytes == 0 && !peer.refused) [[unlikely]]
    map(endpoint);
  return peer.mapped.holds(address, bytes);
}

bool ArenaMemory::is_sound(const Place& arena) const {
  const std::uint64_t room = kArenaLimit - kArenaBase;
  return arena.pid > 0 && arena.fd >= 0 && arena.bytes > 0 && arena.bytes <= room &&
         arena.base >= kArenaBase && arena.base - kArenaBase <= room - arena.bytes &&
         arena.base % page_bytes() == 0 && arena.bytes % page_bytes() == 0;
}

void ArenaMemory::map(int endpoint) {
  const PublishedArena& published = *arenas_[static_cast<std::size_t>(endpoint)];
  if (published.is_there.load(std::memory_order_acquire) == 0) return;  // it may come yet
  const Place arena{published.pid, published.fd, published.id, published.base, published.bytes};
  Peer& peer = peers_[static_cast<std::size_t>(endpoint)];
  peer.refused = true;
  if (!is_sound(arena)) return;
  const int fd = open_memory_file(arena.pid, arena.fd, kArenaName);
  if (fd < 0) return;
  if (is_fixed_memory_file(fd) && is_arena(fd, arena.id, arena.bytes) &&
      map_at(arena.base, arena.bytes, fd)) {
    peer.mapped = {.begin = arena.base, .bytes = arena.bytes};
    peer.refused = false;
  }
  close(fd);
}

/// The arena of a rank whose malloc is private is made when somebody first asks for global memory.
bool ArenaMemory::open_own() {
  if (own_.bytes != 0) return true;
  if (own_failed_ || arenas_.size() < 2) return false;
  own_failed_ = true;
  if (heap_ == nullptr) heap_ = find_or_load_heap();
  const char* reason = nullptr;
  if (heap_ == nullptr || heap_->open(&reason) != 0) return false;
  publish();
  own_failed_ = own_.bytes == 0;
  return !own_failed_;
}

void* ArenaMemory::allocate(std::size_t bytes, std::size_t alignment) {
  void* memory = open_own() ? heap_->allocate(bytes, alignment) : nullptr;
  return memory != nullptr ? memory : GlobalMemory::allocate(bytes, alignment);
}

void ArenaMemory::deallocate(void* memory) {
  if (own_.holds(reinterpret_cast<std::uint64_t>(memory), 1)) {
    heap_->deallocate(memory);
  } else {
    GlobalMemory::deallocate(memory);
  }
}

}  // namespace tasuki
