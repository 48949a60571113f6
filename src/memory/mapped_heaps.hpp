// MappedHeaps: SymmetricHeap of ranks that are processes. Each publishes where its symmetric heap is; its
// peers map it at the same address, when the first message names an address in it.
//
// What a peer published is not trusted: a symmetric heap is mapped only where symmetric heaps belong, where
// nothing else is, and if it is the memory that was named. Whatever cannot be mapped counts as private for
// good.
//
// Ownership: an object owns its mappings of the peers' symmetric heaps; the own symmetric heap is the heap
// library's. The PublishedHeaps lie in memory that all ranks share and outlive the object. Thread safety: as
// SymmetricHeap.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/zero_table.hpp"
#include "heap/interface.hpp"
#include "memory/symmetric_heap.hpp"

namespace tasuki {

/// Where a rank's symmetric heap is found. Writer: that rank, once; before, all is zero.
struct alignas(64) PublishedHeap {
  std::atomic<std::uint32_t> is_there;  // 1: the rest is valid (release; read with acquire)
  std::int32_t pid;
  std::int32_t fd;  // in that process
  std::uint64_t id;
  std::uint64_t base;
  std::uint64_t bytes;
};
static_assert(sizeof(PublishedHeap) == 64);

class MappedHeaps final : public SymmetricHeap {
 public:
  /// Where the symmetric heap of a rank is published.
  struct OfRank {
    int rank;
    PublishedHeap* heap;
  };

  /// `heaps`: of this rank and its peers, by rank; nothing of any other rank is ever reached. `heap` may be
  /// null: nothing of this rank's is global until allocate() finds a heap library to load.
  MappedHeaps(int rank, const std::vector<OfRank>& heaps, HeapInterface* heap);
  ~MappedHeaps() override;

  void* allocate(std::size_t bytes, std::size_t alignment) override;
  void deallocate(void* memory) override;

 protected:
  bool reaches(int endpoint, SymmetricAddress address, std::size_t bytes) override;

 private:
  /// What a PublishedHeap says, read once.
  struct Place {
    std::int32_t pid;
    std::int32_t fd;
    std::uint64_t id;
    std::uint64_t base;
    std::uint64_t bytes;
  };
  struct Peer {
    PublishedHeap* published = nullptr;  // null: nothing of it is reached, or ever will be
    Range mapped;                        // empty: not (yet)
  };

  bool open_own();
  void publish();
  void map(Peer& peer);
  bool is_sound(const Place& symmetric_heap) const;

  std::vector<int> ranks_;  // whose symmetric heaps are published, this one's among them
  ZeroTable<Peer> peers_;   // by rank, up to the last of these
  HeapInterface* heap_;
  bool own_failed_ = false;
};

}  // namespace tasuki
