// The quick way of the commonest operations: little, dense data to or from mapped memory, in an epoch that is
// open. What is anything else, wrong arguments included, takes the long way in operations.cpp, which finds
// out what it is; so the conditions here may be too strict, never too lax.
#pragma once

#include <cstring>

#include "datatype/datatype.hpp"
#include "rma/window.hpp"

namespace tasuki::rma {

inline constexpr Count kQuickBytesMax = 4096;

/// Where `bytes` bytes at `target_disp` of the target are here, and notes the access; null: the long way.
inline std::byte* quick_place(Win& win, int target_rank, Count target_disp, Count bytes) {
  if (static_cast<std::size_t>(target_rank) >= win.parts.size() || !win.epoch.is_open(target_rank) ||
      win.conflicts != nullptr)
    return nullptr;
  const Part& part = win.part(target_rank);
  Count offset = 0;
  if (part.base == nullptr || target_disp < 0 ||
      __builtin_mul_overflow(target_disp, part.disp_unit, &offset) || offset > part.bytes - bytes)
    return nullptr;
  win.epoch.accessed();
  return part.base + offset;
}

/// The bytes of a transfer that is little, dense and of one size on both sides; 0: the long way.
inline Count quick_bytes(Count origin_count, const Datatype& origin_type, Count target_count,
                         const Datatype& target_type) {
  if (!origin_type.contiguous || !target_type.contiguous || origin_count > kQuickBytesMax ||
      target_count > kQuickBytesMax || origin_type.size > kQuickBytesMax || target_type.size > kQuickBytesMax)
    return 0;
  const Count bytes = origin_count * origin_type.size;
  return bytes == target_count * target_type.size && bytes <= kQuickBytesMax ? bytes : 0;
}

/// A single word is copied as such, so that whoever looks at it sees all of it or nothing.
inline void quick_copy(std::byte* to, const std::byte* from, Count bytes) {
  switch (bytes) {
    case 8:
      std::memcpy(to, from, 8);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    default:
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

}  // namespace tasuki::rma
