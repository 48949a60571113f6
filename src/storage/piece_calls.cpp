// Pieces of a file as calls of the system: see piece_calls.hpp.
#include "storage/piece_calls.hpp"

#include <algorithm>

namespace tasuki {

PieceCall make_call(std::span<const FilePiece> pieces, PiecePlace place, std::byte* gap_memory,
                    std::span<iovec> vectors) {
  PieceCall call{.offset = pieces[place.index].offset + place.skipped, .end = place};
  PiecePlace& at = call.end;
  while (at.index < pieces.size() && call.vectors < vectors.size() && call.bytes < kCallBytesMax) {
    const FilePiece& piece = pieces[at.index];
    const Count gap = piece.offset + at.skipped - (call.offset + call.bytes);
    if (gap != 0) {
      const bool worth = gap > 0 && gap <= kGapBytesMax && gap_memory != nullptr;
      if (!worth || call.vectors + 1 == vectors.size() || call.bytes + gap >= kCallBytesMax) break;
      vectors[call.vectors++] = {gap_memory, static_cast<std::size_t>(gap)};
      call.bytes += gap;
    }
    const Count bytes = std::min(piece.bytes - at.skipped, kCallBytesMax - call.bytes);
    vectors[call.vectors++] = {piece.memory + at.skipped, static_cast<std::size_t>(bytes)};
    call.bytes += bytes;
    at.skipped += bytes;
    if (at.skipped == piece.bytes) at = {at.index + 1, 0};
  }
  return call;
}

Count advance(std::span<const FilePiece> pieces, PiecePlace* place, Count moved) {
  Count of_pieces = 0;
  while (moved > 0) {
    const FilePiece& piece = pieces[place->index];
    const Count bytes = std::min(moved, piece.bytes - place->skipped);
    of_pieces += bytes;
    moved -= bytes;
    place->skipped += bytes;
    if (place->skipped < piece.bytes) break;
    *place = {place->index + 1, 0};
    if (moved > 0) moved -= std::min(moved, pieces[place->index].offset - (piece.offset + piece.bytes));
  }
  return of_pieces;
}

}  // namespace tasuki
