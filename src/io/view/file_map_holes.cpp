// Whether parts of views leave holes in a window of the file: covers() of file_map.hpp.
//
// The parts' runs are merged in the order of the file. What repeats is not merged to its end: once a period P
// has been seen to be covered, and the views that covered it go on at P beyond it, everything up to where the
// first of them stops repeating is covered too, and the merge goes on there. So a pattern of a million runs
// is decided from the runs of one period, and one of irregular runs as far as the budget reaches.
//
// Invariant of a Repeat: every byte of [begin, covered) belongs to a part with from[part] at or before it.
#include <algorithm>
#include <queue>
#include <vector>

#include "datatype/layout.hpp"
#include "io/view/file_map.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kPeriodsMax = 8;    // that are looked for
constexpr Count kStepsMin = 1024;         // runs that are merged in any case
constexpr Count kWindowBytesAStep = 512;  // a run costs about as much as reading so many bytes
constexpr Offset kNever = INT64_MAX;

Count end_place(const Layout& layout) {
  return static_cast<Count>(run_at({0, 1, 0, layout}, layout.size - 1).place) + 1;
}

/// One level of a layout at some place: `count` copies of `child`, or of runs of `block_bytes` when null, the
/// first one at `base`, the others `stride` further each.
struct MapLevel {
  Offset base;
  Count count;
  Count stride;
  const Layout* child;
  Count block_bytes;
};

/// Calls visit(level) for all levels around the data at `place`, from the outermost one inwards.
/// REQUIRES: data lies there, in layouts that ascend.
template <class Visit>
void visit_levels(const FileMap& map, Offset place, const Visit& visit) {
  const Count tiles = INT64_MAX / map.layout()->size;
  MapLevel level{map.displacement(), tiles, map.extent(), map.layout().get(), 0};
  for (;;) {
    visit(level);
    const Layout* node = level.child;
    if (node == nullptr) return;
    const Count first = level.base + first_place(*node);
    const Count copy = level.count > 1 ? std::min((place - first) / level.stride, level.count - 1) : 0;
    const Offset base = level.base + copy * level.stride;
    switch (node->shape) {
      case Layout::Shape::kRun:
        level = {base + node->offset, 1, 0, nullptr, node->size};
        break;
      case Layout::Shape::kStrided:
        level = {base + node->offset, node->count, node->stride, node->child.get(), node->block_bytes};
        break;
      case Layout::Shape::kBlocks: {
        const auto after = std::partition_point(
            node->blocks.begin(), node->blocks.end() - 1,
            [&](const Layout::Block& block) { return base + block.displacement <= place; });
        const Layout::Block& block = *(after - 1);
        level = {base + block.displacement, 1, 0, nullptr, after->packed_begin - block.packed_begin};
        break;
      }
      case Layout::Shape::kList: {
        const auto after =
            std::partition_point(node->pieces.begin(), node->pieces.end(), [&](const Layout::Piece& piece) {
              return base + piece.displacement + first_place(*piece.child) <= place;
            });
        const Layout::Piece& piece = *(after - 1);
        level = {base + piece.displacement, piece.count, piece.stride, piece.child.get(), 0};
        break;
      }
    }
  }
}

/// Up to where the part's data repeats with `period` from `place` on: what lies at x >= place lies at x +
/// period too, if that is less. `part_end`: where the part's last byte ends. REQUIRES: data lies at `place`.
Offset repeats_until(const FileMap& map, Offset place, Count period, Offset part_end) {
  Offset until = 0;
  visit_levels(map, place, [&](const MapLevel& level) {
    const bool is_last = level.child == nullptr;
    const Offset block_begin =
        level.count > 1 ? level.base + (place - level.base) / level.stride * level.stride : level.base;
    if (is_last) until = std::max(until, block_begin + level.block_bytes);  // a dense run repeats anyhow
    const bool is_dense =
        !is_last && level.child->shape == Layout::Shape::kRun && level.child->size == level.stride;
    if (level.count == 1 || level.stride <= 0 || (period % level.stride != 0 && !is_dense)) return;
    const Count last_bytes = is_last ? level.block_bytes : end_place(*level.child);
    const Count copies_left = (part_end - level.base) / level.stride;  // keeps the product below in 63 bits
    until = std::max(until, level.count - 1 > copies_left
                                ? part_end
                                : level.base + (level.count - 1) * level.stride + last_bytes);
  });
  return std::min(until, part_end);
}

/// A period, and what has been seen since its last beginning.
struct Repeat {
  Count period;
  Offset begin;
  std::vector<Offset> from;  // by part: where it first helped to cover; kNever: it did not
};

class Coverage {
 public:
  Coverage(std::span<const MappedRange> parts, Offset begin, Offset end)
      : parts_(parts),
        end_(end),
        covered_(begin),
        steps_left_(kStepsMin + (end - begin) / kWindowBytesAStep) {
    part_ends_.reserve(parts.size());
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const PositionRange& range = parts[part].range;
      part_ends_.push_back(range.bytes() > 0 ? parts[part].map->offset_of(range.end - 1) + 1 : 0);
      push(part, range.begin);
    }
    find_periods();
  }

  bool decide() {
    for (; covered_ < end_; --steps_left_) {
      if (steps_left_ <= 0 || queue_.empty() || queue_.top().begin > covered_) return false;
      const Head head = queue_.top();
      queue_.pop();
      const Offset before = covered_;
      if (head.end > covered_) covered_ = head.end;
      const FileMap& map = *parts_[head.part].map;
      push(head.part, std::max(head.next, map.position_at(covered_)));
      if (covered_ == before) continue;
      for (Repeat& repeat : repeats_) note(head.part, std::max(head.begin, before), repeat);
      for (Repeat& repeat : repeats_) {
        if (covered_ - repeat.begin >= repeat.period) jump(repeat);
      }
    }
    return true;
  }

 private:
  /// A part's next run.
  struct Head {
    Offset begin;
    Offset end;
    std::size_t part;
    Count next;                                                              // position behind it
    bool operator<(const Head& other) const { return begin > other.begin; }  // the first is the top
  };

  void push(std::size_t part, Count position) {
    const MappedRange& mapped = parts_[part];
    if (position >= mapped.range.end) return;
    const FileRun run = mapped.map->run_at(position);
    const Count bytes = std::min(run.bytes, mapped.range.end - position);
    queue_.push({run.offset, run.offset + bytes, part, position + bytes});
  }

  void find_periods() {
    std::vector<Count> periods;
    for (const MappedRange& mapped : parts_) {
      if (mapped.range.bytes() == 0) continue;
      visit_levels(*mapped.map, mapped.map->offset_of(mapped.range.begin), [&](const MapLevel& level) {
        const bool helps = level.count > 2 && level.stride > 0 && level.stride < (end_ - covered_) / 2;
        if (helps && std::find(periods.begin(), periods.end(), level.stride) == periods.end())
          periods.push_back(level.stride);
      });
      if (periods.size() >= kPeriodsMax) break;
    }
    for (const Count period : periods)
      repeats_.push_back({period, covered_, std::vector<Offset>(parts_.size(), kNever)});
  }

  static void note(std::size_t part, Offset place, Repeat& repeat) {
    if (repeat.from[part] == kNever) repeat.from[part] = place;
  }

  /// A period is covered: covers what the parts that did so go on to cover, and begins anew.
  void jump(Repeat& repeat) {
    steps_left_ -= static_cast<Count>(parts_.size() / 4);  // what it costs
    Offset until = end_;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      if (repeat.from[part] == kNever) continue;
      until = std::min(until,
                       repeats_until(*parts_[part].map, repeat.from[part], repeat.period, part_ends_[part]));
    }
    if (until > covered_) {
      for (Repeat& other : repeats_) note_all(repeat, other);
      covered_ = until;
    }
    repeat.begin = covered_;
    std::fill(repeat.from.begin(), repeat.from.end(), kNever);
  }

  /// What `repeat` covers next is its parts', from their first data there on.
  void note_all(const Repeat& repeat, Repeat& other) {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      if (repeat.from[part] == kNever || other.from[part] != kNever) continue;
      const FileMap& map = *parts_[part].map;
      const Count position = map.position_at(covered_);
      if (position < parts_[part].range.end) note(part, map.offset_of(position), other);
    }
  }

  std::span<const MappedRange> parts_;
  const Offset end_;
  Offset covered_;  // all bytes of the window before it are
  Count steps_left_;
  std::vector<Offset> part_ends_;
  std::priority_queue<Head> queue_;
  std::vector<Repeat> repeats_;
};

}  // namespace

bool covers(std::span<const MappedRange> parts, Offset begin, Offset end) {
  Count bytes = 0;
  for (const MappedRange& mapped : parts) bytes += mapped.range.bytes();
  return bytes >= end - begin && Coverage(parts, begin, end).decide();
}

}  // namespace tasuki
