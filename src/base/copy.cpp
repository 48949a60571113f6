// Copies in pieces and past the caches: see base/copy.hpp.
#include "base/copy.hpp"

#include <algorithm>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

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

#ifdef __SSE2__

void stream_bytes(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64, kWord = sizeof(__m128i);
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  // Lines that are not whole cost a trip each: they go by the caches.
  const std::size_t before = std::min(bytes, -reinterpret_cast<std::uintptr_t>(target) % kLine);
  std::memcpy(target, source, before);
  target += before;
  source += before;
  bytes -= before;
  for (; bytes >= kLine; bytes -= kLine, target += kLine, source += kLine) {
    for (std::size_t at = 0; at < kLine; at += kWord) {
      const __m128i word = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + at));
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + at), word);
    }
  }
  std::memcpy(target, source, bytes);
  _mm_sfence();
}

#else

void stream_bytes(void* to, const void* from, std::size_t bytes) {
  copy_bytes(to, from, bytes);
}

#endif

}  // namespace tasuki
