// ArenaMemory: GlobalMemory of ranks that are processes. Each publishes where its arena is; its peers map it
// at the same address, when the first message names an address in it.
//
// What a peer published is not trusted: an arena is mapped only where arenas belong, where nothing else is,
// and if it is the memory that was named. Whatever cannot be mapped counts as private for good.
//
// Ownership: an object owns its mappings of the peers' arenas; the own arena is the heap library's. The
// PublishedArenas lie in memory that all ranks share and outlive the object.
// Thread safety: as GlobalMemory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "heap/interface.hpp"
#include "memory/global_memory.hpp"

namespace tasuki {

/// Where a rank's arena is found. Writer: that rank, once; before, all is zero.
struct alignas(64) PublishedArena {
  std::atomic<std::uint32_t> is_there;  // 1: the rest is valid (release; read with acquire)
  std::int32_t pid;
  std::int32_t fd;  // in that process
  std::uint64_t id;
  std::uint64_t base;
  std::uint64_t bytes;
};
static_assert(sizeof(PublishedArena) == 64);

class ArenaMemory final : public GlobalMemory {
 public:
  /// `arenas` has one entry for each rank; null: nothing of that one is ever reached. `heap` may be null:
  /// nothing of this rank's is global until allocate() finds a heap library to load.
  ArenaMemory(int rank, std::vector<PublishedArena*> arenas, HeapInterface* heap);
  ~ArenaMemory() override;

  void* allocate(std::size_t bytes, std::size_t alignment) override;
  void deallocate(void* memory) override;

 protected:
  bool reaches(int endpoint, GlobalAddress address, std::size_t bytes) override;

 private:
  /// What a PublishedArena says, read once.
  struct Place {
    std::int32_t pid;
    std::int32_t fd;
    std::uint64_t id;
    std::uint64_t base;
    std::uint64_t bytes;
  };
  struct Peer {
    Range mapped;  // empty: not (yet)
    bool refused = false;
  };

  bool open_own();
  void publish();
  void map(int endpoint);
  bool is_sound(const Place& arena) const;

  std::vector<PublishedArena*> arenas_;
  std::vector<Peer> peers_;
  HeapInterface* heap_;
  bool own_failed_ = false;
};

}  // namespace tasuki
