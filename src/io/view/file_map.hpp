// FileMap: where the data of one rank's view lies in the file, as any rank may know it: a displacement and
// tiles of a layout, all in bytes. A View is the user's side of it (io/view/view.hpp).
//
// Data is numbered by its position: bytes of data before it in the view. In a map that is_ordered() places
// ascend with positions, so what a window of the file [begin, end) shares with the map is one range of
// positions: that is what two-phase access rests on, and why no list of offsets is ever made or sent.
//
// Immutable; any thread may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"
#include "datatype/layout.hpp"
#include "io/view/ranges.hpp"

namespace tasuki {

class FileMap {
 public:
  FileMap() = default;
  /// `layout`: of one tile, the first one at `displacement`, the others `extent` further each.
  FileMap(Offset displacement, Count extent, LayoutRef layout);

  /// Whether the data of the first `positions` positions ascends in the file, without overlap. Known since
  /// the map was made; for whole tiles, so that a part of an unordered one is unordered too.
  bool is_ordered(Count positions) const;

  /// Where position `position` lies. REQUIRES: there is one.
  Offset offset_of(Count position) const;
  /// The first position that lies at or behind `offset`: as many bytes of data lie before it.
  /// REQUIRES: is_ordered() for what is asked about.
  Count position_at(Offset offset) const;
  /// The part of `all` that lies in bytes [begin, end) of the file.
  PositionRange range_in(const PositionRange& all, Offset begin, Offset end) const;
  /// The run that begins at `position`; it need not be the longest one.
  FileRun run_at(Count position) const;
  /// Bytes of data for each run of bytes in the file, on the average over a tile; INT64_MAX where all data is
  /// one run.
  Count run_bytes() const;

  /// Between `packed`, the bytes of `range` one behind the other, and `window`, which holds the file's bytes
  /// from `window_begin` on. Regular maps move at the speed of a strided copy.
  void to_window(const PositionRange& range, const std::byte* packed, std::byte* window,
                 Offset window_begin) const;
  void from_window(const PositionRange& range, std::byte* packed, const std::byte* window,
                   Offset window_begin) const;

  Offset displacement() const { return displacement_; }
  Count extent() const { return extent_; }
  const LayoutRef& layout() const { return layout_; }

 private:
  /// The tiles as elements that lie at `begin`.
  PlacedElements tiles(std::uintptr_t begin) const;

  Offset displacement_ = 0;
  Count extent_ = 0;
  LayoutRef layout_;
  Count first_ = 0;  // where the data of a tile begins, relative to it
  bool is_tile_ordered_ = true;
  bool are_tiles_ordered_ = true;  // also with those that follow
};

/// Where the first byte of an element of this layout lies, relative to it.
Count first_place(const Layout& layout);

/// One rank's data in a window: `range` of `map`.
struct MappedRange {
  const FileMap* map;
  PositionRange range;
};

/// Whether the bytes [begin, end) of the file are all among the data of `parts`. False may also mean that it
/// could not be found out within a reasonable time; true is certain. Parts may overlap.
/// REQUIRES: the maps are ordered over the ranges, which lie in [begin, end).
bool covers(std::span<const MappedRange> parts, Offset begin, Offset end);

}  // namespace tasuki
