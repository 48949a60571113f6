// The fast path of the commonest operations: little, dense data to or from mapped memory, in an epoch that is
// open. Anything else, wrong arguments included, takes the general path in calls/communication.cpp, which
// finds out what it is; so the conditions here may be too strict, never too lax.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/copy.hpp"
#include "base/predefined.hpp"
#include "datatype/datatype.hpp"
#include "rma/window.hpp"

namespace tasuki::rma {

inline constexpr Count kFastPathBytesMax = 4096;

/// Whether the target is one of the fast path. Types are significant then: they are not null.
inline bool is_fast_path_target(const Win& win, int target_rank) {
  return static_cast<unsigned>(target_rank) < win.fast_path_ranks;
}

/// The address here of `bytes` bytes at `target_disp` of the target, and notes the access; null: the general
/// path.
inline std::byte* fast_path_place(Win& win, int target_rank, Count target_disp, Count bytes) {
  if (!is_fast_path_target(win, target_rank) || !win.epoch.is_open(target_rank)) return nullptr;
  const Part& part = win.part(target_rank);
  Count offset = 0;
  if (part.base == nullptr || target_disp < 0 ||
      __builtin_mul_overflow(target_disp, part.disp_unit, &offset) || offset > part.bytes - bytes)
    return nullptr;
  win.epoch.accessed();
  return part.base + offset;
}

/// The bytes of a transfer that is little, dense and of one size on both sides; 0: the general path.
inline Count fast_path_bytes(Count origin_count, const Datatype& origin_type, Count target_count,
                             const Datatype& target_type) {
  if (&origin_type == &target_type && origin_count == target_count) [[likely]] {
    if (!origin_type.contiguous || origin_count > kFastPathBytesMax || origin_type.size > kFastPathBytesMax)
      return 0;
    const Count bytes = origin_count * origin_type.size;
    return bytes <= kFastPathBytesMax ? bytes : 0;
  }
  if (!origin_type.contiguous || !target_type.contiguous || origin_count > kFastPathBytesMax ||
      target_count > kFastPathBytesMax || origin_type.size > kFastPathBytesMax ||
      target_type.size > kFastPathBytesMax)
    return 0;
  const Count bytes = origin_count * origin_type.size;
  return bytes == target_count * target_type.size && bytes <= kFastPathBytesMax ? bytes : 0;
}

/// A single word is copied as such, so that a rank that reads it meanwhile sees all of it or nothing.
inline void fast_path_copy(std::byte* to, const std::byte* from, Count bytes) {
  switch (bytes) {
    case 8:
      std::memcpy(to, from, 8);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    default:
      copy_bytes(to, from, static_cast<std::size_t>(bytes));
  }
}

template <class Word>
void fetch(std::uint16_t op, std::byte* place, const std::byte* in, std::byte* result) {
  std::atomic_ref<Word> cell(*reinterpret_cast<Word*>(place));
  Word operand{};
  if (op == kMpiNoOp) {
    operand = cell.load(std::memory_order_acquire);
  } else {
    std::memcpy(&operand, in, sizeof operand);
    operand = op == kMpiSum ? cell.fetch_add(operand, std::memory_order_acq_rel)
                            : cell.exchange(operand, std::memory_order_acq_rel);
  }
  if (result != nullptr) std::memcpy(result, &operand, sizeof operand);
}

/// The commonest accumulate: one word, by one instruction. Returns false, having done nothing, where it is
/// another case. `in` is not read for kMpiNoOp; `result` may be null.
inline bool fetch_word(const Combination& how, const ElementGuard& guard, std::byte* place,
                       const std::byte* in, std::byte* result) {
  const std::size_t size = how.type->size;
  if (!how.is_fetch || guard.is_alone() || reinterpret_cast<std::uintptr_t>(place) % size != 0 ||
      !guard.enter())
    return false;
  if (size == 8)
    fetch<std::uint64_t>(how.op, place, in, result);
  else
    fetch<std::uint32_t>(how.op, place, in, result);
  guard.leave();
  return true;
}

/// Whether the window's last combination is that of `op` on `type`, which then is a predefined one.
inline bool is_last_combination(const Win& win, const Op& op, const Datatype* type) {
  return win.combination_type == type && win.combination.op == op.predefined;
}

}  // namespace tasuki::rma
