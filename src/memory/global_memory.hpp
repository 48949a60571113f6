// GlobalMemory: which of a rank's memory its peers can address, and which of theirs it can.
//
// Every rank may have an arena: memory that all ranks of the node map at the same address, so that an address
// in it means the same to all, and "is it shared?" is a comparison. Memory outside it is private. Static data
// that was remapped into the arena has two addresses: find() gives the global one.
//
// Ranks that are threads of one process share everything; a rank without an arena shares nothing.
//
// Ownership: the object belongs to one rank's Process; the arena's memory lives as long as anybody maps it.
// Thread safety: all is guarded by the process lock.
//
// Invariants:
//  1. find() never gives an address that is not in the own arena.
//  2. reach() is true only for memory inside that endpoint's arena, mapped here, whatever the peer claimed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tasuki {

/// An address in global memory, as it travels in packets. 0: none, the memory is private.
using GlobalAddress = std::uint64_t;

class GlobalMemory {
 public:
  virtual ~GlobalMemory() = default;

  /// The global address of `bytes` bytes of this rank's memory at `address`, or 0 when they are private, even
  /// in part.
  GlobalAddress find(const void* address, std::size_t bytes) const {
    const auto from = reinterpret_cast<std::uint64_t>(address);
    if (own_.holds(from, bytes)) [[likely]]
      return from;
    return static_.holds(from, bytes) ? from - static_.begin + static_at_ : 0;
  }

  /// Whether `bytes` bytes at `address` are in `endpoint`'s arena and can be read and written here. Maps the
  /// arena at the first call that asks for it. `endpoint` may be this rank.
  virtual bool reach(int endpoint, GlobalAddress address, std::size_t bytes) = 0;

  /// `bytes` > 0 of memory, global where that can be had. `alignment` is a power of two and a multiple of a
  /// pointer's. Null when there is none at all.
  virtual void* allocate(std::size_t bytes, std::size_t alignment);

  /// The same, but null where it would be private.
  void* allocate_global(std::size_t bytes, std::size_t alignment) {
    void* memory = allocate(bytes, alignment);
    if (memory == nullptr || find(memory, bytes) != 0) return memory;
    deallocate(memory);
    return nullptr;
  }

  /// Gives back what allocate() or allocate_global() gave.
  virtual void deallocate(void* memory);

 protected:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    bool holds(std::uint64_t from, std::uint64_t count) const {
      return from - begin < bytes && count <= bytes - (from - begin);
    }
  };
  Range own_;
  Range static_;                 // remapped static data, by its own addresses
  GlobalAddress static_at_ = 0;  // its global address
};

/// For a rank that shares nothing.
std::unique_ptr<GlobalMemory> make_private_memory();

/// For ranks that are threads of one process: what any rank has is global, but for those that make theirs
/// private. `reached[rank]`: whether this one can address what that one has.
std::unique_ptr<GlobalMemory> make_common_memory(std::vector<bool> reached, bool own_is_private = false);

}  // namespace tasuki
