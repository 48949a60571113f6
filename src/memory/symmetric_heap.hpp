// SymmetricHeap: which of a rank's memory its peers can address, and which of theirs it can.
//
// Every rank may have a symmetric heap: memory that all ranks of the node map at the same address, so that an
// address in it means the same to all, and "is it shared?" is a comparison. Memory outside it is private.
// Static data that was remapped into the symmetric heap has two addresses: locate() gives the global one.
//
// Ranks that are threads of one process share everything; a rank without a symmetric heap shares nothing.
//
// Ownership: the object belongs to one rank's Process; the symmetric heap's memory lives as long as a
// process maps it. Thread safety: all is guarded by the process lock.
//
// Invariants:
//  1. locate() of an own address never gives one that is not in the own symmetric heap.
//  2. locate() of another rank's address is shared only inside of that rank's symmetric heap, mapped here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tasuki {

/// An address in symmetric memory, as it travels in packets. 0: none, the memory is private.
using SymmetricAddress = std::uint64_t;

/// What kind of memory an address is in. (A device's will be one.)
enum class MemoryKind : std::uint8_t {
  kPrivate,        // of this process alone, as far as this rank can tell others of it
  kSymmetricHeap,  // of a heap that the ranks of the node map
};

/// Where some bytes are: the answer of SymmetricHeap::locate().
struct MemoryPlace {
  MemoryKind kind = MemoryKind::kPrivate;
  int owner = -1;                // the endpoint whose heap it is; -1: no process's
  SymmetricAddress address = 0;  // by which all ranks know it; 0: private

  bool is_shared() const { return kind == MemoryKind::kSymmetricHeap; }
};

class SymmetricHeap {
 public:
  /// `self`: the endpoint of this rank.
  explicit SymmetricHeap(int self) : self_(self) {}
  virtual ~SymmetricHeap() = default;

  /// What memory this rank's `bytes` bytes at `address` are in: private, even if only a part of them is. What
  /// lies in another rank's heap is private, too: its address is that rank's to give away.
  MemoryPlace locate(const void* address, std::size_t bytes) const {
    const auto from = reinterpret_cast<std::uint64_t>(address);
    if (own_.holds(from, bytes)) [[likely]]
      return {MemoryKind::kSymmetricHeap, self_, from};
    if (!static_.holds(from, bytes)) return {};
    return {MemoryKind::kSymmetricHeap, self_, from - static_.begin + static_at_};
  }

  /// The same of `bytes` bytes at an address that came from `owner`, which may be this rank: shared, if they
  /// are in that one's heap, whatever it claimed, and can be read and written here. Maps that heap at the
  /// first call that asks for it.
  MemoryPlace locate(int owner, SymmetricAddress address, std::size_t bytes) {
    if (!reaches(owner, address, bytes)) return {};
    return {MemoryKind::kSymmetricHeap, owner, address};
  }

  /// Where the own symmetric heap begins, and its bytes. 0: there is none, or all memory is in it.
  std::pair<SymmetricAddress, std::uint64_t> own_range() const {
    return own_.bytes != UINT64_MAX ? std::pair(own_.begin, own_.bytes)
                                    : std::pair<SymmetricAddress, std::uint64_t>();
  }

  /// Whether what this rank allocates is global: then allocate_symmetric() gives some while there is any.
  bool exists() const { return own_.bytes != 0; }

  /// `bytes` > 0 of memory, global where that can be had. `alignment` is a power of two and a multiple of a
  /// pointer's. Null when there is none at all.
  virtual void* allocate(std::size_t bytes, std::size_t alignment);

  /// The same, but null where it would be private.
  void* allocate_symmetric(std::size_t bytes, std::size_t alignment) {
    void* memory = allocate(bytes, alignment);
    if (memory == nullptr || locate(memory, bytes).is_shared()) return memory;
    deallocate(memory);
    return nullptr;
  }

  /// Gives back what allocate() or allocate_symmetric() gave.
  virtual void deallocate(void* memory);

 protected:
  virtual bool reaches(int owner, SymmetricAddress address, std::size_t bytes) = 0;

  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    bool holds(std::uint64_t from, std::uint64_t count) const {
      return from - begin < bytes && count <= bytes - (from - begin);
    }
  };
  const int self_;
  Range own_;
  Range static_;                    // remapped static data, by its own addresses
  SymmetricAddress static_at_ = 0;  // its global address
};

/// For a rank that shares nothing.
std::unique_ptr<SymmetricHeap> make_private_heap();

/// For ranks that are threads of one process: what any rank has is global, but for those that make theirs
/// private. `reached[rank]`: whether this one can address what that one has.
std::unique_ptr<SymmetricHeap> make_common_heap(int self, std::vector<bool> reached,
                                                bool own_is_private = false);

}  // namespace tasuki
