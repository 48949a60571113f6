// Questions about the runs of a layout: which one holds a byte, and in which order they lie. Files ask them.
#include <algorithm>

#include "datatype/layout.hpp"

namespace tasuki {
namespace {

template <class Entry>
const Entry& entry_at(const std::vector<Entry>& entries, Count position) {
  const auto after =
      std::upper_bound(entries.begin(), entries.end(), position,
                       [](Count value, const Entry& entry) { return value < entry.packed_begin; });
  return *(after - 1);
}

Run run_in(const Layout& node, std::uintptr_t place, Count position);

Run run_in_copies(const Layout& child, std::uintptr_t place, Count count, Count stride, Count position) {
  if (child.shape == Layout::Shape::kRun && stride == child.size) {
    return {address_at(place, child.offset + position), count * child.size - position};
  }
  const Count copy = position / child.size;
  return run_in(child, address_at(place, copy * stride), position - copy * child.size);
}

Run run_in(const Layout& node, std::uintptr_t place, Count position) {
  switch (node.shape) {
    case Layout::Shape::kRun:
      return {address_at(place, node.offset + position), node.size - position};
    case Layout::Shape::kStrided: {
      if (node.child)
        return run_in_copies(*node.child, address_at(place, node.offset), node.count, node.stride, position);
      const Count block = position / node.block_bytes;
      const Count skipped = position - block * node.block_bytes;
      return {address_at(place, node.offset + block * node.stride + skipped), node.block_bytes - skipped};
    }
    case Layout::Shape::kBlocks: {
      const Layout::Block& block = entry_at(node.blocks, position);
      const Count skipped = position - block.packed_begin;
      return {address_at(place, block.displacement + skipped), (&block + 1)->packed_begin - position};
    }
    case Layout::Shape::kList: {
      const Layout::Piece& piece = entry_at(node.pieces, position);
      return run_in_copies(*piece.child, address_at(place, piece.displacement), piece.count, piece.stride,
                           position - piece.packed_begin);
    }
  }
  return {place, 0};
}

/// Notes that `next` follows.
void append(RunOrder* all, const RunOrder& next) {
  all->ascending = all->ascending && next.ascending && next.first >= all->last;
  all->disjoint = all->disjoint && next.disjoint && next.first >= all->end;
  all->last = next.last;
  all->end = std::max(all->end, next.end);
}

RunOrder moved(RunOrder order, Count offset) {
  order.first += offset;
  order.last += offset;
  order.end += offset;
  return order;
}

RunOrder order_of_copies(const RunOrder& one, Count offset, Count count, Count stride) {
  RunOrder all = moved(one, offset);
  if (count == 1) return all;
  append(&all, moved(one, offset + stride));
  // The others follow as the second one does the first.
  all.last = offset + (count - 1) * stride + one.last;
  all.end = std::max(all.end, offset + (count - 1) * stride + one.end);
  return all;
}

}  // namespace

Run run_at(const PlacedElements& elements, Count position) {
  return run_in_copies(elements.layout, elements.buffer, elements.count, elements.extent, position);
}

RunOrder run_order(const Layout& layout) {
  switch (layout.shape) {
    case Layout::Shape::kRun:
      return {.first = layout.offset, .last = layout.offset, .end = layout.offset + layout.size};
    case Layout::Shape::kStrided: {
      const RunOrder one = layout.child ? run_order(*layout.child) : RunOrder{.end = layout.block_bytes};
      return order_of_copies(one, layout.offset, layout.count, layout.stride);
    }
    case Layout::Shape::kBlocks: {
      RunOrder all;
      for (std::size_t i = 0; i + 1 < layout.blocks.size(); ++i) {
        const Count begin = layout.blocks[i].displacement;
        const Count end = begin + layout.blocks[i + 1].packed_begin - layout.blocks[i].packed_begin;
        const RunOrder block{.first = begin, .last = begin, .end = end};
        if (i == 0) {
          all = block;
        } else {
          append(&all, block);
        }
      }
      return all;
    }
    case Layout::Shape::kList: {
      RunOrder all;
      for (std::size_t i = 0; i < layout.pieces.size(); ++i) {
        const Layout::Piece& piece = layout.pieces[i];
        const RunOrder order =
            order_of_copies(run_order(*piece.child), piece.displacement, piece.count, piece.stride);
        if (i == 0) {
          all = order;
        } else {
          append(&all, order);
        }
      }
      return all;
    }
  }
  return {};
}

}  // namespace tasuki
