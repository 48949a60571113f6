// Where a view's data lies: see file_map.hpp. Offsets are looked up by descending the layout's tree, so a
// look-up costs its depth and the logarithms of its lists, however many runs there are.
#include "io/view/file_map.hpp"

#include <algorithm>
#include <utility>

namespace tasuki {

Count first_place(const Layout& layout) {
  return static_cast<Count>(run_at({0, 1, 0, layout}, 0).place);
}

namespace {

Count bytes_before(const Layout& node, Count place);

/// How many bytes of `count` copies of `child`, `stride` apart from 0 on, lie before `place`.
Count bytes_before_in_copies(const Layout& child, Count count, Count stride, Count place) {
  const Count first = first_place(child);
  if (place <= first) return 0;
  const Count copy = count > 1 ? std::min((place - first - 1) / stride, count - 1) : 0;
  return copy * child.size + bytes_before(child, place - copy * stride);
}

/// How many bytes of the node lie before `place`. REQUIRES: its runs ascend and do not overlap, so that the
/// strides of its copies are positive.
Count bytes_before(const Layout& node, Count place) {
  switch (node.shape) {
    case Layout::Shape::kRun:
      return std::clamp<Count>(place - node.offset, 0, node.size);
    case Layout::Shape::kStrided: {
      place -= node.offset;
      if (node.child) return bytes_before_in_copies(*node.child, node.count, node.stride, place);
      if (place <= 0) return 0;
      const Count block = std::min((place - 1) / node.stride, node.count - 1);
      return block * node.block_bytes + std::min(place - block * node.stride, node.block_bytes);
    }
    case Layout::Shape::kBlocks: {
      const auto after =
          std::partition_point(node.blocks.begin(), node.blocks.end() - 1,
                               [&](const Layout::Block& block) { return block.displacement < place; });
      if (after == node.blocks.begin()) return 0;
      const Layout::Block& block = *(after - 1);
      return std::min(block.packed_begin + place - block.displacement, after->packed_begin);
    }
    case Layout::Shape::kList: {
      const auto after = std::partition_point(
          node.pieces.begin(), node.pieces.end(),
          [&](const Layout::Piece& piece) { return piece.displacement + first_place(*piece.child) < place; });
      if (after == node.pieces.begin()) return 0;
      const Layout::Piece& piece = *(after - 1);
      return piece.packed_begin +
             bytes_before_in_copies(*piece.child, piece.count, piece.stride, place - piece.displacement);
    }
  }
  return 0;
}

}  // namespace

FileMap::FileMap(Offset displacement, Count extent, LayoutRef layout)
    : displacement_(displacement), extent_(extent), layout_(std::move(layout)) {
  if (layout_->size == 0) return;
  const RunOrder order = run_order(*layout_);
  first_ = order.first;
  is_tile_ordered_ = order.ascending && order.disjoint;
  are_tiles_ordered_ = is_tile_ordered_ && extent_ >= order.end - order.first;
}

bool FileMap::is_ordered(Count positions) const {
  if (positions <= 0) return true;
  return positions <= layout_->size ? is_tile_ordered_ : are_tiles_ordered_;
}

Offset FileMap::offset_of(Count position) const {
  return run_at(position).offset;
}

Count FileMap::position_at(Offset offset) const {
  const Count place = offset - displacement_;
  if (layout_->size == 0 || place <= first_) return 0;
  const Count tile = are_tiles_ordered_ ? (place - first_ - 1) / extent_ : 0;
  return tile * layout_->size + bytes_before(*layout_, place - tile * extent_);
}

PositionRange FileMap::range_in(const PositionRange& all, Offset begin, Offset end) const {
  const Count from = std::clamp(position_at(begin), all.begin, all.end);
  return {from, std::clamp(position_at(end), from, all.end)};
}

FileRun FileMap::run_at(Count position) const {
  const Run run = tasuki::run_at(tiles(displacement_), position);
  return {static_cast<Offset>(run.place), run.bytes};
}

Count FileMap::run_bytes() const {
  if (layout_->shape == Layout::Shape::kRun && extent_ == layout_->size) return INT64_MAX;
  return layout_->size / std::max<Count>(layout_->runs, 1);
}

PlacedElements FileMap::tiles(std::uintptr_t begin) const {
  return {begin, INT64_MAX / std::max<Count>(layout_->size, 1), extent_, *layout_};
}

// The window is put under the map: the map's byte at window_begin is the window's first. Addresses are
// integers that wrap around, so where the map itself would begin need not be an address of anything.
void FileMap::to_window(const PositionRange& range, const std::byte* packed, std::byte* window,
                        Offset window_begin) const {
  const auto under = static_cast<std::uintptr_t>(displacement_ - window_begin);
  unpack_range(tiles(reinterpret_cast<std::uintptr_t>(window) + under), range.begin, range.end, packed);
}

void FileMap::from_window(const PositionRange& range, std::byte* packed, const std::byte* window,
                          Offset window_begin) const {
  const auto under = static_cast<std::uintptr_t>(displacement_ - window_begin);
  pack_range(tiles(reinterpret_cast<std::uintptr_t>(window) + under), range.begin, range.end, packed);
}

}  // namespace tasuki
