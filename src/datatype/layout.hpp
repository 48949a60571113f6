// Layout: where the bytes of one element lie, in type-map order, and the moves over it.
//
// A layout is a tree that stays as small as the type's description: a vector of a million blocks is one node.
// Runs of bytes that follow each other both in the type map and in memory are merged.
//
// Invariants of a node:
// 1. size is the number of its bytes; a node with size == 0 is an empty kRun, and no other node holds one.
// 2. kRun: one dense run of `size` bytes at `offset`.
// 3. kStrided, child == null: `count` > 1 runs of `block_bytes` at offset + i * stride, with
//    stride != block_bytes.
// 4. kStrided, child != null: `count` copies of child (never a kRun) at offset + i * stride; count may be 1.
// 5. kBlocks: runs blocks[i], at least two, not all at one stride; the last entry of `blocks` is a sentinel
//    whose packed_begin == size. block_bytes != 0: all are so long.
// 6. kList: pieces in order, at least two, each `count` copies of its child.
// 7. Places are relative to the address of the element, and reach it by address arithmetic on integers
//    (MPI_BOTTOM is the null pointer).
//
// Immutable once made; any thread may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/types.hpp"

namespace tasuki {

struct Layout;
using LayoutRef = std::shared_ptr<const Layout>;

struct Layout {
  enum class Shape : std::uint8_t { kRun, kStrided, kBlocks, kList };

  struct Block {
    Count displacement;
    Count packed_begin;  // bytes before it in the packed form
  };
  struct Piece {
    Count displacement;
    Count packed_begin;
    Count count;
    Count stride;
    LayoutRef child;  // may be a kRun
  };

  Shape shape = Shape::kRun;
  Count size = 0;
  Count runs = 0;  // runs of bytes that it stands for; saturates at kRunsMax
  Count offset = 0;
  Count count = 0;
  Count stride = 0;
  Count block_bytes = 0;
  LayoutRef child;
  std::vector<Block> blocks;
  std::vector<Piece> pieces;
};

/// Wraps around, as MPI_BOTTOM and negative offsets need it.
inline std::uintptr_t address_at(std::uintptr_t base, Count offset) {
  return base + static_cast<std::uintptr_t>(offset);
}

inline constexpr Count kRunsMax = Count{1} << 40;

LayoutRef layout_run(Count offset, Count bytes);

/// `count` copies of `child`, the first one moved by `offset`, the others `stride` further each.
LayoutRef layout_strided(Count offset, Count count, Count stride, const LayoutRef& child);

/// Collects pieces in type-map order and makes the smallest layout of them. Where there is no memory for them
/// finish() gives null.
class LayoutBuilder {
 public:
  void add(Count displacement, Count count, Count stride, const LayoutRef& child);
  LayoutRef finish();

 private:
  struct Piece {
    Count displacement;
    Count bytes;  // of a run; 0: copies of child
    Count count;
    Count stride;
    LayoutRef child;
  };
  void append(Piece piece);
  void add_run(Count displacement, Count bytes);
  void add_expanded(Count displacement, const Layout& node);
  bool splits_evenly(Count merged_bytes) const;
  LayoutRef finish_runs();
  LayoutRef finish_list();

  std::vector<Piece> pieces_;
  bool only_runs_ = true;
  bool failed_ = false;
  Count runs_added_ = 0;  // before merging
  Count run_bytes_ = 0;   // of each of them; -1 when they differ
};

/// `count` elements at `buffer`, `extent` apart.
struct PlacedElements {
  std::uintptr_t buffer;
  Count count;
  Count extent;
  const Layout& layout;
};

/// Bytes [from, to) of the elements' packed form: to `out`, or from `in`.
/// REQUIRES: 0 <= from <= to <= count * layout.size.
void pack_range(const PlacedElements& elements, Count from, Count to, std::byte* out);
void unpack_range(const PlacedElements& elements, Count from, Count to, const std::byte* in);

/// A run of bytes that is dense both in the packed form and where the elements lie.
struct Run {
  std::uintptr_t place;
  Count bytes;
};

/// The run that begins with byte `position` of the packed form. It need not be the longest one: the next may
/// go on where it ends. REQUIRES: 0 <= position < count * layout.size.
Run run_at(const PlacedElements& elements, Count position);

/// In which order the runs of one element lie.
struct RunOrder {
  bool ascending = true;  // none begins before the one before it does
  bool disjoint = true;   // none begins before the one before it ends
  Count first = 0;        // where the first one begins
  Count last = 0;         // where the last one begins
  Count end = 0;          // where the one that ends last does
};
RunOrder run_order(const Layout& layout);  // REQUIRES: layout.size > 0

/// The same bytes of the elements at `elements.buffer` to those of the same layout at `target`.
void copy_range(const PlacedElements& elements, Count from, Count to, std::uintptr_t target);

/// Calls visit(context, place, bytes) for the runs of bytes that bytes [from, to) of the packed form are, in
/// order. A run ends where the layout or the range does, never inside a basic element that the range holds.
using RunVisitor = void (*)(void* context, std::byte* place, Count bytes);
void visit_runs(const PlacedElements& elements, Count from, Count to, RunVisitor visit, void* context);

}  // namespace tasuki
