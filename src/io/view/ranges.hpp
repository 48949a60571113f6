// How the parts of a file are named: bytes of the file, and positions in a view.
//
// A position counts bytes of data in a view, without its holes (io/view/view.hpp).
#pragma once

#include "base/types.hpp"

namespace tasuki {

/// A run of bytes of a file.
struct FileRun {
  Offset offset;
  Count bytes;
};

/// Bytes [begin, end) of a file.
struct FileRange {
  Offset begin = 0;
  Offset end = 0;
  Count bytes() const { return end - begin; }
};

/// Positions [begin, end) of a view.
struct PositionRange {
  Count begin = 0;
  Count end = 0;
  Count bytes() const { return end - begin; }
};

}  // namespace tasuki
