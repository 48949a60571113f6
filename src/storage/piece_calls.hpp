// How a list of pieces of a file becomes calls of preadv and pwritev: those that lie one behind the other are
// one call. A read also goes over small gaps between pieces, into memory that is never read: a call costs
// more than copying kGapBytesMax bytes (docs/io.md has the measurement).
//
// Pure: nothing is read or written here. Any thread may call.
#pragma once

#include <sys/uio.h>

#include <climits>
#include <cstddef>
#include <span>

#include "base/types.hpp"
#include "storage/driver.hpp"

namespace tasuki {

inline constexpr std::size_t kCallVectorsMax = IOV_MAX;
inline constexpr Count kCallBytesMax = Count{1} << 30;  // one system call moves less than 2 GiB
inline constexpr Count kGapBytesMax = 6 << 10;

/// How far a transfer has come: all pieces before `index`, and `skipped` bytes of that one.
struct PiecePlace {
  std::size_t index = 0;
  Count skipped = 0;
};

/// What one call of the system moves: a range of the file, gaps included.
struct PieceCall {
  Offset offset = 0;
  Count bytes = 0;
  std::size_t vectors = 0;
  PiecePlace end;  // where the next call begins
};

/// The longest call from `place` on. `vectors` gets its memory and is as long as it may have; `gap_memory`,
/// of kGapBytesMax bytes, takes what lies between pieces: null where that must not be touched. REQUIRES:
/// place.index < pieces.size(), vectors is not empty.
PieceCall make_call(std::span<const FilePiece> pieces, PiecePlace place, std::byte* gap_memory,
                    std::span<iovec> vectors);

/// Puts `place` behind the first `moved` bytes of a call that began there. Returns how many of them were of
/// pieces. REQUIRES: moved <= PieceCall::bytes.
Count advance(std::span<const FilePiece> pieces, PiecePlace* place, Count moved);

}  // namespace tasuki
