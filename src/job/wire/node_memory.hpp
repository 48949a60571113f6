// NodeMemory: a memory file that the ranks of one node map, where another launcher started them. It holds a
// header page, a part for each rank, their values (job/value_table.hpp), and the region of the node and its
// link.
//
// Every rank makes one; which of them is used is agreed on (rank_card.hpp). It has no name that could be left
// behind. Its size is set once the ranks of the node are known; it never shrinks.
//
// Ownership: an object owns its descriptor and mappings; the descriptor stays open, since peers open it late
// and other jobs map the doorbells.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "job/pages.hpp"
#include "job/wire/rank_card.hpp"
#include "memory/mapped_heaps.hpp"
#include "node/doorbells.hpp"

namespace tasuki::wire {

struct alignas(64) NodeHeader {
  std::uint64_t id;                         // writer: the maker, first of all
  std::atomic<std::uint64_t> region_bytes;  // writer: the first rank to get there; 0 before
};

struct alignas(64) RankPart {
  std::atomic<std::uint32_t> finalized;  // writer: the rank; 1: it uses MPI no more, and may end
  PublishedHeap symmetric_heap;          // writer: the rank
};

class NodeMemory {
 public:
  NodeMemory() = default;
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  ~NodeMemory();

  /// Makes one, and says in `card` where it is.
  bool make(RankCard* card, std::string* error);

  /// Uses that of `card`, which another rank has made, instead. Returns false when it cannot be opened, or
  /// is another one; then nothing has changed.
  bool open(const RankCard& card);

  /// Maps what `ranks` ranks have; `values`: those of the Directory, 0 where they go another way.
  bool map(int ranks, int values, std::string* error);
  NodeHeader& header() { return *header_; }
  RankPart& part(int number);
  std::byte* values() { return base_ + values_at_; }

  /// Maps the region; the ranks agree on its size. REQUIRES: map().
  bool map_region(std::size_t bytes, std::string* error);
  const SharedRegion& region() const { return region_; }

 private:
  int fd_ = -1;
  NodeHeader* header_ = nullptr;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;  // that are mapped at base_
  std::size_t values_at_ = 0;
  SharedRegion region_;
};

}  // namespace tasuki::wire
