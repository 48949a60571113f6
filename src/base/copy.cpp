// Copies in pieces: see base/copy.hpp.
#include "base/copy.hpp"

namespace tasuki {

void copy_in_pieces(void* to, const void* from, std::size_t bytes) {
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  std::size_t piece = kCopyPieceBytes;
  // A size that the compiler knew it could turn into such an instruction itself.
  asm("" : "+r"(piece));
  for (; bytes > piece; bytes -= piece, target += piece, source += piece) std::memcpy(target, source, piece);
  std::memcpy(target, source, bytes);
}

}  // namespace tasuki
