// The moves over a layout: pack, unpack, and copy between two places of the same layout.
//
// A range of the packed form is found by descending the tree: O(depth), with one binary search per list.
// Whole blocks then go through loops whose block size the compiler knows where that is worth it.
#include <algorithm>
#include <cstring>

#include "base/copy.hpp"
#include "datatype/layout.hpp"

namespace tasuki {
namespace {

std::size_t bytes_of(Count bytes) {
  return static_cast<std::size_t>(bytes);
}

/// Moves `bytes` known only now. A call of memcpy costs more than a short run itself, so up to 32 bytes go by
/// two moves that may overlap.
inline void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto ends = [&]<class Word>(Word first) {
    Word last;
    std::memcpy(&first, from, sizeof first);
    std::memcpy(&last, from + bytes - sizeof last, sizeof last);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + bytes - sizeof last, &last, sizeof last);
  };
  struct Pair {
    std::uint64_t half[2];
  };
  if (bytes > 32) {
    copy_bytes(to, from, bytes);
  } else if (bytes >= 16) {
    ends(Pair{});
  } else if (bytes >= 8) {
    ends(std::uint64_t{});
  } else if (bytes >= 4) {
    ends(std::uint32_t{});
  } else if (bytes >= 2) {
    ends(std::uint16_t{});
  } else {
    *to = *from;
  }
}

/// Memory to packed bytes.
struct Pack {
  std::byte* out;

  void run(std::uintptr_t place, Count bytes) {
    copy(out, reinterpret_cast<const std::byte*>(place), bytes_of(bytes));
    out += bytes;
  }
  template <std::size_t kBytes>
  void fixed(std::uintptr_t place) {
    std::memcpy(out, reinterpret_cast<const std::byte*>(place), kBytes);
    out += kBytes;
  }
};

/// Packed bytes to memory.
struct Unpack {
  const std::byte* in;

  void run(std::uintptr_t place, Count bytes) {
    copy(reinterpret_cast<std::byte*>(place), in, bytes_of(bytes));
    in += bytes;
  }
  template <std::size_t kBytes>
  void fixed(std::uintptr_t place) {
    std::memcpy(reinterpret_cast<std::byte*>(place), in, kBytes);
    in += kBytes;
  }
};

/// Memory to memory of the same layout, `shift` further.
struct Copy {
  std::uintptr_t shift;

  void run(std::uintptr_t place, Count bytes) {
    copy(reinterpret_cast<std::byte*>(place + shift), reinterpret_cast<const std::byte*>(place),
         bytes_of(bytes));
  }
  template <std::size_t kBytes>
  void fixed(std::uintptr_t place) {
    std::memcpy(reinterpret_cast<std::byte*>(place + shift), reinterpret_cast<const std::byte*>(place),
                kBytes);
  }
};

/// The places themselves.
struct Visit {
  RunVisitor visit;
  void* context;

  void run(std::uintptr_t place, Count bytes) { visit(context, reinterpret_cast<std::byte*>(place), bytes); }
  template <std::size_t kBytes>
  void fixed(std::uintptr_t place) {
    run(place, static_cast<Count>(kBytes));
  }
};

/// `count` whole blocks of kBytes, `stride` apart. The mover is a local copy, so that its pointer stays in a
/// register although the compiler must assume that the data could alias it.
template <std::size_t kBytes, class Mover>
void fixed_blocks(std::uintptr_t place, Count count, Count stride, Mover& mover) {
  Mover local = mover;
  for (Count i = 0; i < count; ++i) {
    local.template fixed<kBytes>(place);
    place = address_at(place, stride);
  }
  mover = local;
}

template <class Mover>
void whole_blocks(std::uintptr_t place, Count count, Count stride, Count block_bytes, Mover& mover) {
  switch (block_bytes) {
    case 1:
      return fixed_blocks<1>(place, count, stride, mover);
    case 2:
      return fixed_blocks<2>(place, count, stride, mover);
    case 4:
      return fixed_blocks<4>(place, count, stride, mover);
    case 8:
      return fixed_blocks<8>(place, count, stride, mover);
    case 12:
      return fixed_blocks<12>(place, count, stride, mover);
    case 16:
      return fixed_blocks<16>(place, count, stride, mover);
    case 24:
      return fixed_blocks<24>(place, count, stride, mover);
    case 32:
      return fixed_blocks<32>(place, count, stride, mover);
    case 48:
      return fixed_blocks<48>(place, count, stride, mover);
    case 64:
      return fixed_blocks<64>(place, count, stride, mover);
    case 128:
      return fixed_blocks<128>(place, count, stride, mover);
    default:
      for (Count i = 0; i < count; ++i) {
        mover.run(place, block_bytes);
        place = address_at(place, stride);
      }
  }
}

/// `count` whole blocks of kBytes at listed displacements.
template <std::size_t kBytes, class Mover>
void fixed_listed(const Layout::Block* block, Count count, std::uintptr_t place, Mover& mover) {
  Mover local = mover;
  for (Count i = 0; i < count; ++i) local.template fixed<kBytes>(address_at(place, block[i].displacement));
  mover = local;
}

template <class Mover>
void whole_listed(const Layout& node, std::size_t first, Count count, std::uintptr_t place, Mover& mover) {
  const Layout::Block* block = &node.blocks[first];
  switch (node.block_bytes) {
    case 4:
      return fixed_listed<4>(block, count, place, mover);
    case 8:
      return fixed_listed<8>(block, count, place, mover);
    case 16:
      return fixed_listed<16>(block, count, place, mover);
    case 24:
      return fixed_listed<24>(block, count, place, mover);
    default:
      for (Count i = 0; i < count; ++i) {
        mover.run(address_at(place, block[i].displacement),
                  block[i + 1].packed_begin - block[i].packed_begin);
      }
  }
}

template <class Mover>
void whole_copies(const Layout& child, std::uintptr_t place, Count count, Count stride, Mover& mover);

/// All bytes of one node: no range to keep book of.
template <class Mover>
void whole_node(const Layout& node, std::uintptr_t place, Mover& mover) {
  switch (node.shape) {
    case Layout::Shape::kRun:
      return mover.run(address_at(place, node.offset), node.size);
    case Layout::Shape::kStrided:
      if (node.child)
        return whole_copies(*node.child, address_at(place, node.offset), node.count, node.stride, mover);
      return whole_blocks(address_at(place, node.offset), node.count, node.stride, node.block_bytes, mover);
    case Layout::Shape::kBlocks:
      return whole_listed(node, 0, static_cast<Count>(node.blocks.size() - 1), place, mover);
    case Layout::Shape::kList:
      for (const Layout::Piece& piece : node.pieces) {
        whole_copies(*piece.child, address_at(place, piece.displacement), piece.count, piece.stride, mover);
      }
  }
}

/// `count` elements of a few blocks each, as arrays of structs have them.
template <class Mover>
void whole_records(const Layout& record, std::uintptr_t place, Count count, Count stride, Mover& mover) {
  const Layout::Block* const blocks = record.blocks.data();
  const std::size_t last = record.blocks.size() - 1;
  Mover local = mover;
  for (Count i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < last; ++k) {
      local.run(address_at(place, blocks[k].displacement),
                blocks[k + 1].packed_begin - blocks[k].packed_begin);
    }
    place = address_at(place, stride);
  }
  mover = local;
}

template <class Mover>
void whole_copies(const Layout& child, std::uintptr_t place, Count count, Count stride, Mover& mover) {
  if (child.shape == Layout::Shape::kRun) {
    return whole_blocks(address_at(place, child.offset), count, stride, child.size, mover);
  }
  constexpr std::size_t kRecordBlocksMax = 16;
  if (child.shape == Layout::Shape::kBlocks && child.blocks.size() <= kRecordBlocksMax) {
    return whole_records(child, place, count, stride, mover);
  }
  for (Count i = 0; i < count; ++i) {
    whole_node(child, place, mover);
    place = address_at(place, stride);
  }
}

/// Bytes [from, to) of runs of `block_bytes` at place, place + stride, …
template <class Mover>
void move_runs(std::uintptr_t place, Count stride, Count block_bytes, Count from, Count to, Mover& mover) {
  const Count first = from / block_bytes;
  const Count skipped = from - first * block_bytes;
  place = address_at(place, first * stride);
  Count left = to - from;
  if (skipped > 0) {
    const Count bytes = std::min(left, block_bytes - skipped);
    mover.run(address_at(place, skipped), bytes);
    left -= bytes;
    place = address_at(place, stride);
  }
  const Count whole = left / block_bytes;
  whole_blocks(place, whole, stride, block_bytes, mover);
  left -= whole * block_bytes;
  if (left > 0) mover.run(address_at(place, whole * stride), left);
}

template <class Mover>
void move_node(const Layout& node, std::uintptr_t place, Count from, Count to, Mover& mover);

/// Bytes [from, to) of copies of `child` at place, place + stride, …
template <class Mover>
void move_copies(const Layout& child, std::uintptr_t place, Count stride, Count from, Count to,
                 Mover& mover) {
  if (child.shape == Layout::Shape::kRun) {
    return move_runs(address_at(place, child.offset), stride, child.size, from, to, mover);
  }
  const Count first = from / child.size;
  const Count skipped = from - first * child.size;
  place = address_at(place, first * stride);
  Count left = to - from;
  if (skipped > 0) {
    const Count bytes = std::min(left, child.size - skipped);
    move_node(child, place, skipped, skipped + bytes, mover);
    left -= bytes;
    place = address_at(place, stride);
  }
  const Count whole = left / child.size;
  whole_copies(child, place, whole, stride, mover);
  left -= whole * child.size;
  if (left > 0) move_node(child, address_at(place, whole * stride), 0, left, mover);
}

/// The index of the entry in which byte `from` lies.
template <class Entry>
std::size_t find_entry(const std::vector<Entry>& entries, Count from) {
  const auto after =
      std::upper_bound(entries.begin(), entries.end(), from,
                       [](Count value, const Entry& entry) { return value < entry.packed_begin; });
  return static_cast<std::size_t>(after - entries.begin()) - 1;
}

template <class Mover>
void move_blocks(const Layout& node, std::uintptr_t place, Count from, Count to, Mover& mover) {
  std::size_t index = node.block_bytes > 0 ? static_cast<std::size_t>(from / node.block_bytes)
                                           : find_entry(node.blocks, from);
  const Count skipped = from - node.blocks[index].packed_begin;
  if (skipped > 0) {
    const Count bytes = std::min(to, node.blocks[index + 1].packed_begin) - from;
    mover.run(address_at(place, node.blocks[index].displacement + skipped), bytes);
    from += bytes;
    ++index;
    if (from == to) return;
  }
  const std::size_t last = to == node.size        ? node.blocks.size() - 1
                           : node.block_bytes > 0 ? static_cast<std::size_t>(to / node.block_bytes)
                                                  : find_entry(node.blocks, to);
  if (last > index) whole_listed(node, index, static_cast<Count>(last - index), place, mover);
  const Count left = to - node.blocks[last].packed_begin;
  if (left > 0) mover.run(address_at(place, node.blocks[last].displacement), left);
}

template <class Mover>
void move_list(const Layout& node, std::uintptr_t place, Count from, Count to, Mover& mover) {
  for (std::size_t i = find_entry(node.pieces, from); from < to; ++i) {
    const Layout::Piece& piece = node.pieces[i];
    const Count end = std::min(to, piece.packed_begin + piece.count * piece.child->size);
    move_copies(*piece.child, address_at(place, piece.displacement), piece.stride, from - piece.packed_begin,
                end - piece.packed_begin, mover);
    from = end;
  }
}

/// Bytes [from, to) of one node. REQUIRES: 0 <= from < to <= node.size.
template <class Mover>
void move_node(const Layout& node, std::uintptr_t place, Count from, Count to, Mover& mover) {
  switch (node.shape) {
    case Layout::Shape::kRun:
      return mover.run(address_at(place, node.offset + from), to - from);
    case Layout::Shape::kStrided:
      if (node.child) {
        return move_copies(*node.child, address_at(place, node.offset), node.stride, from, to, mover);
      }
      return move_runs(address_at(place, node.offset), node.stride, node.block_bytes, from, to, mover);
    case Layout::Shape::kBlocks:
      return move_blocks(node, place, from, to, mover);
    case Layout::Shape::kList:
      return move_list(node, place, from, to, mover);
  }
}

template <class Mover>
void move_elements(const PlacedElements& elements, Count from, Count to, Mover mover) {
  if (from == to) return;
  if (elements.layout.shape == Layout::Shape::kRun && elements.extent == elements.layout.size) {
    return mover.run(address_at(elements.buffer, elements.layout.offset + from), to - from);
  }
  if (from == 0 && to == elements.count * elements.layout.size) {
    return whole_copies(elements.layout, elements.buffer, elements.count, elements.extent, mover);
  }
  move_copies(elements.layout, elements.buffer, elements.extent, from, to, mover);
}

}  // namespace

void pack_range(const PlacedElements& elements, Count from, Count to, std::byte* out) {
  move_elements(elements, from, to, Pack{out});
}

void unpack_range(const PlacedElements& elements, Count from, Count to, const std::byte* in) {
  move_elements(elements, from, to, Unpack{in});
}

void copy_range(const PlacedElements& elements, Count from, Count to, std::uintptr_t target) {
  move_elements(elements, from, to, Copy{target - elements.buffer});
}

void visit_runs(const PlacedElements& elements, Count from, Count to, RunVisitor visit, void* context) {
  move_elements(elements, from, to, Visit{visit, context});
}

}  // namespace tasuki
