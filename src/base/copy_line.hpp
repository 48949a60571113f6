// Copying less than a cache line's worth of bytes, whose number is not known when this is compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tasuki {

template <std::size_t kWidth>
inline void copy_ends(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  std::memcpy(to, from, kWidth);
  std::memcpy(to + bytes - kWidth, from + bytes - kWidth, kWidth);
}

/// Copies up to 64 bytes in two moves that may overlap: a call of memcpy costs more than that.
inline void copy_line(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  if (bytes == 8) {  // one number: the usual case of those where every instruction counts
    std::memcpy(to, from, 8);
  } else if (bytes >= 32) {
    copy_ends<32>(to, from, bytes);
  } else if (bytes >= 16) {
    copy_ends<16>(to, from, bytes);
  } else if (bytes >= 8) {
    copy_ends<8>(to, from, bytes);
  } else if (bytes >= 4) {
    copy_ends<4>(to, from, bytes);
  } else if (bytes >= 2) {
    copy_ends<2>(to, from, bytes);
  } else if (bytes == 1) {
    *to = *from;
  }
}

}  // namespace tasuki
