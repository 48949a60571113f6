// How layouts are made: merging of runs, and the choice of the smallest shape.
#include "datatype/layout.hpp"

#include "base/user_memory.hpp"

#include <algorithm>

namespace tasuki {
namespace {

/// A child with at most so many runs is written out among its parent's blocks instead of being a piece.
constexpr Count kExpandedRunsMax = 16;

Count saturated_runs(Count count, Count runs) {
  return count > kRunsMax / std::max<Count>(runs, 1) ? kRunsMax : count * runs;
}

std::shared_ptr<Layout> node(Layout::Shape shape, Count size) {
  auto made = std::make_shared<Layout>();
  made->shape = shape;
  made->size = size;
  return made;
}

LayoutRef moved(const LayoutRef& layout, Count offset) {
  if (offset == 0) return layout;
  if (layout->shape == Layout::Shape::kRun) return layout_run(layout->offset + offset, layout->size);
  if (layout->shape == Layout::Shape::kStrided) {
    auto made = std::make_shared<Layout>(*layout);
    made->offset += offset;
    return made;
  }
  auto made = node(Layout::Shape::kStrided, layout->size);
  made->runs = layout->runs;
  made->offset = offset;
  made->count = 1;
  made->child = layout;
  return made;
}

LayoutRef strided_runs(Count offset, Count count, Count stride, Count block_bytes) {
  if (count == 1 || stride == block_bytes) return layout_run(offset, count * block_bytes);
  auto made = node(Layout::Shape::kStrided, count * block_bytes);
  made->runs = std::min(count, kRunsMax);
  made->offset = offset;
  made->count = count;
  made->stride = stride;
  made->block_bytes = block_bytes;
  return made;
}

}  // namespace

LayoutRef layout_run(Count offset, Count bytes) {
  auto made = node(Layout::Shape::kRun, bytes);
  made->runs = bytes > 0 ? 1 : 0;
  made->offset = bytes > 0 ? offset : 0;
  return made;
}

LayoutRef layout_strided(Count offset, Count count, Count stride, const LayoutRef& child) {
  if (count == 0 || child->size == 0) return layout_run(0, 0);
  if (count == 1) return moved(child, offset);
  if (child->shape == Layout::Shape::kRun) {
    return strided_runs(offset + child->offset, count, stride, child->size);
  }
  auto made = node(Layout::Shape::kStrided, count * child->size);
  made->runs = saturated_runs(count, child->runs);
  made->offset = offset;
  made->count = count;
  made->stride = stride;
  made->child = child;
  if (child->shape != Layout::Shape::kStrided) return made;
  Count child_stride_all = 0;
  const bool continues = !__builtin_mul_overflow(child->stride, child->count, &child_stride_all) &&
                         child_stride_all == stride;  // the next copy goes on with the same stride
  if (child->count != 1 && !continues) return made;
  made->offset += child->offset;
  made->child = child->child;
  made->block_bytes = child->block_bytes;
  if (child->count != 1) {
    made->count = count * child->count;
    made->stride = child->stride;
  }
  return made;
}

void LayoutBuilder::add(Count displacement, Count count, Count stride, const LayoutRef& child) {
  if (count == 0 || child->size == 0 || failed_) return;
  if (child->shape == Layout::Shape::kRun && (count == 1 || stride == child->size)) {
    add_run(displacement + child->offset, count * child->size);
  } else if (saturated_runs(count, child->runs) <= kExpandedRunsMax) {
    for (Count i = 0; i < count; ++i) add_expanded(displacement + i * stride, *child);
  } else {
    only_runs_ = false;
    append({displacement, 0, count, stride, child});
  }
}

void LayoutBuilder::append(Piece piece) {
  if (!failed_) failed_ = !try_append(&pieces_, std::move(piece));
}

void LayoutBuilder::add_run(Count displacement, Count bytes) {
  run_bytes_ = runs_added_ == 0 || run_bytes_ == bytes ? bytes : -1;
  ++runs_added_;
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    if (last.bytes > 0 && last.displacement + last.bytes == displacement) {
      last.bytes += bytes;
      return;
    }
  }
  append({displacement, bytes, 1, 0, nullptr});
}

void LayoutBuilder::add_expanded(Count displacement, const Layout& node) {
  switch (node.shape) {
    case Layout::Shape::kRun:
      add_run(displacement + node.offset, node.size);
      break;
    case Layout::Shape::kStrided:
      for (Count i = 0; i < node.count; ++i) {
        const Count place = displacement + node.offset + i * node.stride;
        if (node.child) {
          add_expanded(place, *node.child);
        } else {
          add_run(place, node.block_bytes);
        }
      }
      break;
    case Layout::Shape::kBlocks:
      for (std::size_t i = 0; i + 1 < node.blocks.size(); ++i) {
        add_run(displacement + node.blocks[i].displacement,
                node.blocks[i + 1].packed_begin - node.blocks[i].packed_begin);
      }
      break;
    case Layout::Shape::kList:
      for (const Layout::Piece& piece : node.pieces) {
        for (Count i = 0; i < piece.count; ++i) {
          add_expanded(displacement + piece.displacement + i * piece.stride, *piece.child);
        }
      }
      break;
  }
}

/// Whether many short equal blocks, of which few happened to be neighbours, are better moved one by one: with
/// one known length, instead of lengths that the processor must guess.
bool LayoutBuilder::splits_evenly(Count merged_bytes) const {
  constexpr Count kBlockBytesMax = 32;
  constexpr Count kMergedMax = 4;  // blocks per run on average
  return merged_bytes == 0 && run_bytes_ > 0 && run_bytes_ <= kBlockBytesMax &&
         runs_added_ <= kMergedMax * static_cast<Count>(pieces_.size());
}

LayoutRef LayoutBuilder::finish_runs() {
  const Count bytes = pieces_[0].bytes;
  const Count stride = pieces_[1].displacement - pieces_[0].displacement;
  bool same_bytes = true;
  bool same_stride = true;
  for (std::size_t i = 1; i < pieces_.size(); ++i) {
    same_bytes = same_bytes && pieces_[i].bytes == bytes;
    same_stride = same_stride && pieces_[i].displacement - pieces_[i - 1].displacement == stride;
  }
  const Count count = static_cast<Count>(pieces_.size());
  if (same_bytes && same_stride) return strided_runs(pieces_[0].displacement, count, stride, bytes);

  auto made = node(Layout::Shape::kBlocks, 0);
  made->block_bytes = same_bytes ? bytes : 0;
  const bool split = splits_evenly(made->block_bytes);
  if (split) made->block_bytes = run_bytes_;
  if (!try_reserve(&made->blocks, static_cast<std::size_t>(split ? runs_added_ : count) + 1)) return nullptr;
  for (const Piece& piece : pieces_) {
    const Count block_bytes = split ? run_bytes_ : piece.bytes;
    for (Count done = 0; done < piece.bytes; done += block_bytes) {
      made->blocks.push_back({piece.displacement + done, made->size});
      made->size += block_bytes;
    }
  }
  made->blocks.push_back({0, made->size});
  made->runs = static_cast<Count>(made->blocks.size()) - 1;
  return made;
}

LayoutRef LayoutBuilder::finish_list() {
  const Piece& first = pieces_[0];
  const Count step = pieces_[1].displacement - first.displacement;
  bool regular = true;
  for (std::size_t i = 1; i < pieces_.size() && regular; ++i) {
    const Piece& piece = pieces_[i];
    regular = piece.bytes == first.bytes && piece.count == first.count && piece.stride == first.stride &&
              piece.child == first.child && piece.displacement - pieces_[i - 1].displacement == step;
  }
  if (regular) {
    const LayoutRef one = layout_strided(0, first.count, first.stride, first.child);
    return layout_strided(first.displacement, static_cast<Count>(pieces_.size()), step, one);
  }
  auto made = node(Layout::Shape::kList, 0);
  if (!try_reserve(&made->pieces, pieces_.size())) return nullptr;
  for (const Piece& piece : pieces_) {
    const LayoutRef child = piece.bytes > 0 ? layout_run(0, piece.bytes) : piece.child;
    made->pieces.push_back({piece.displacement, made->size, piece.count, piece.stride, child});
    made->size += piece.count * child->size;
    made->runs = std::min(kRunsMax, made->runs + saturated_runs(piece.count, child->runs));
  }
  return made;
}

LayoutRef LayoutBuilder::finish() {
  if (failed_) return nullptr;
  if (pieces_.empty()) return layout_run(0, 0);
  if (pieces_.size() == 1) {
    const Piece& only = pieces_[0];
    if (only.bytes > 0) return layout_run(only.displacement, only.bytes);
    return layout_strided(only.displacement, only.count, only.stride, only.child);
  }
  return only_runs_ ? finish_runs() : finish_list();
}

}  // namespace tasuki
