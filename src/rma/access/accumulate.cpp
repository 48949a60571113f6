// Accumulates: by the processor's atomic instructions, or under locks.
#include "rma/access/accumulate.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "datatype/layout.hpp"

namespace tasuki::rma {
namespace {

constexpr std::size_t kChunkBytes = 4096;  // combined at once where elements are copied before
constexpr auto kOrder = std::memory_order_acq_rel;

std::size_t bytes_of(Count bytes) {
  return static_cast<std::size_t>(bytes);
}

// ----- by instructions -------------------------------------------------------------------------------------

/// Calls combine_word(cell, operand) -> old for each of `count` words.
template <class Word, class Combine>
void for_each_word(std::byte* target, const std::byte* in, std::byte* result, std::size_t count,
                   Combine&& combine_word) {
  for (std::size_t i = 0; i < count; ++i) {
    std::atomic_ref<Word> cell(*reinterpret_cast<Word*>(target + i * sizeof(Word)));
    Word operand{};
    if (in != nullptr) std::memcpy(&operand, in + i * sizeof(Word), sizeof operand);
    const Word old = combine_word(cell, operand);
    if (result != nullptr) std::memcpy(result + i * sizeof(Word), &old, sizeof old);
  }
}

template <class Word>
Word combine_by_kernel(std::atomic_ref<Word> cell, Word operand, ReductionKernel kernel) {
  alignas(8) std::byte in[sizeof(Word)];
  alignas(8) std::byte inout[sizeof(Word)];
  std::memcpy(in, &operand, sizeof operand);
  Word old = cell.load(std::memory_order_acquire);
  for (;;) {
    Word wanted;
    std::memcpy(inout, &old, sizeof old);
    kernel(in, inout, inout, 1);
    std::memcpy(&wanted, inout, sizeof wanted);
    if (cell.compare_exchange_weak(old, wanted, std::memory_order_acq_rel, std::memory_order_acquire))
      return old;
  }
}

template <class Number, class Word>
Word add_number(std::atomic_ref<Word> cell, Word operand) {
  Word old = cell.load(std::memory_order_acquire);
  for (;;) {
    const auto sum = std::bit_cast<Word>(std::bit_cast<Number>(operand) + std::bit_cast<Number>(old));
    if (cell.compare_exchange_weak(old, sum, std::memory_order_acq_rel, std::memory_order_acquire))
      return old;
  }
}

bool is_integer(const BasicInfo& type) {
  return type.representation == Representation::kSigned || type.representation == Representation::kUnsigned;
}

template <class Word>
void combine_words(const Combination& how, std::byte* target, const std::byte* in, std::byte* result,
                   std::size_t count) {
  const auto each = [&](auto&& combine_word) {
    for_each_word<Word>(target, in, result, count, combine_word);
  };
  switch (how.op) {
    case kMpiNoOp:
      return each([](auto cell, Word) { return cell.load(std::memory_order_acquire); });
    case kMpiReplace:
      if (result != nullptr) return each([](auto cell, Word value) { return cell.exchange(value, kOrder); });
      return each([](auto cell, Word value) {
        cell.store(value, std::memory_order_release);
        return value;
      });
    case kMpiSum:
      if (is_integer(*how.type))
        return each([](auto cell, Word value) { return cell.fetch_add(value, kOrder); });
      if (how.type->representation != Representation::kFloating) break;
      if constexpr (sizeof(Word) == sizeof(double)) return each(add_number<double, Word>);
      if constexpr (sizeof(Word) == sizeof(float)) return each(add_number<float, Word>);
      break;
    case kMpiBand:
      return each([](auto cell, Word value) { return cell.fetch_and(value, kOrder); });
    case kMpiBor:
      return each([](auto cell, Word value) { return cell.fetch_or(value, kOrder); });
    case kMpiBxor:
      return each([](auto cell, Word value) { return cell.fetch_xor(value, kOrder); });
    default:
      break;
  }
  each([&how](auto cell, Word value) { return combine_by_kernel<Word>(cell, value, how.kernel); });
}

/// As element_guard.hpp has it.
bool is_word(const BasicInfo& type, const std::byte* place) {
  const std::size_t size = type.size;
  return type.size == type.extent && size <= 8 && (size & (size - 1)) == 0 &&
         reinterpret_cast<std::uintptr_t>(place) % size == 0;
}

void combine_by_instructions(const Combination& how, std::byte* place, const std::byte* in, std::byte* result,
                             std::size_t count) {
  switch (how.type->size) {
    case 8:
      return combine_words<std::uint64_t>(how, place, in, result, count);
    case 4:
      return combine_words<std::uint32_t>(how, place, in, result, count);
    case 2:
      return combine_words<std::uint16_t>(how, place, in, result, count);
    default:
      return combine_words<std::uint8_t>(how, place, in, result, count);
  }
}

// ----- by plain instructions -------------------------------------------------------------------------------

bool is_aligned(const BasicInfo& type, const std::byte* place) {
  return reinterpret_cast<std::uintptr_t>(place) % type.alignment == 0;
}

/// inout = in op inout, at any addresses.
void combine_copies(const Combination& how, std::byte* inout, const std::byte* in, std::size_t count) {
  const std::size_t extent = how.type->extent;
  const std::size_t chunk_max = kChunkBytes / extent;
  alignas(16) std::byte first[kChunkBytes];
  alignas(16) std::byte second[kChunkBytes];
  for (std::size_t begin = 0; begin < count; begin += chunk_max) {
    const std::size_t chunk = std::min(chunk_max, count - begin);
    std::memcpy(first, in + begin * extent, chunk * extent);
    std::memcpy(second, inout + begin * extent, chunk * extent);
    how.kernel(first, second, second, chunk);
    std::memcpy(inout + begin * extent, second, chunk * extent);
  }
}

/// Combines arrays of elements that no other rank combines meanwhile.
void combine_plain(const Combination& how, std::byte* place, const std::byte* in, std::byte* result,
                   std::size_t count) {
  const std::size_t bytes = count * how.type->extent;
  if (result != nullptr) std::memcpy(result, place, bytes);
  if (how.op == kMpiNoOp) return;
  if (how.op == kMpiReplace) {
    std::memcpy(place, in, bytes);
  } else if (is_aligned(*how.type, place) && is_aligned(*how.type, in)) {
    how.kernel(in, place, place, count);
  } else {
    combine_copies(how, place, in, count);
  }
}

// ----- pairs with padding ----------------------------------------------------------------------------------

/// Holds the lock of the pairs, where other ranks may combine some.
SharedLockGuard hold_pairs(const ElementGuard& guard) {
  return guard.is_alone() ? SharedLockGuard(nullptr, nullptr)
                          : SharedLockGuard(&guard.pairs(), &guard.user());
}

/// The elements of a pair type with padding between packed bytes and the machine's structs, one of the two
/// ways.
void move_pairs(const BasicInfo& pair, std::byte* structs, std::byte* packed, std::size_t count,
                bool to_packed) {
  const std::size_t value_bytes = basic_info(pair.value)->size;
  const std::size_t index_bytes = pair.size - value_bytes;
  const auto move = [to_packed](std::byte* in_struct, std::byte* in_packed, std::size_t bytes) {
    std::memcpy(to_packed ? in_packed : in_struct, to_packed ? in_struct : in_packed, bytes);
  };
  for (std::size_t i = 0; i < count; ++i, structs += pair.extent, packed += pair.size) {
    move(structs, packed, value_bytes);
    move(structs + pair.index_offset, packed + value_bytes, index_bytes);
  }
}

/// inout = in op inout, both packed.
void combine_packed_pairs(const Combination& how, const std::byte* in, std::byte* inout, std::size_t bytes) {
  if (how.op == kMpiNoOp) return;
  if (how.op == kMpiReplace) {
    std::memcpy(inout, in, bytes);
    return;
  }
  const BasicInfo& type = *how.type;
  const std::size_t count = bytes / type.size;
  alignas(16) std::byte first[2 * kChunkBytes];  // structs may be up to twice as long as packed
  alignas(16) std::byte second[2 * kChunkBytes];
  std::memset(first, 0, count * type.extent);
  std::memset(second, 0, count * type.extent);
  move_pairs(type, first, const_cast<std::byte*>(in), count, false);
  move_pairs(type, second, inout, count, false);
  how.kernel(first, second, second, count);
  move_pairs(type, second, inout, count, true);
}

/// `in` and `result` are packed.
void combine_pairs(const Combination& how, const ElementGuard& guard, const PlacedElements& target,
                   Count from, Count to, const std::byte* in, std::byte* result) {
  const Count chunk_max = static_cast<Count>(kChunkBytes / how.type->size * how.type->size);
  std::byte values[kChunkBytes];
  for (Count begin = from; begin < to; begin += chunk_max) {
    const Count end = std::min(to, begin + chunk_max);
    const std::size_t bytes = bytes_of(end - begin);
    const Count done = begin - from;
    const SharedLockGuard held = hold_pairs(guard);
    pack_range(target, begin, end, values);
    if (result != nullptr) std::memcpy(result + done, values, bytes);
    if (how.op == kMpiNoOp) continue;
    combine_packed_pairs(how, in + done, values, bytes);
    unpack_range(target, begin, end, values);
  }
}

void combine_pair_array(const Combination& how, const ElementGuard& guard, std::byte* place, Count count,
                        const std::byte* in, std::byte* result) {
  const Count extent = how.type->extent;
  const Count chunk_max = static_cast<Count>(kChunkBytes) / extent;
  for (Count begin = 0; begin < count; begin += chunk_max) {
    const Count done = begin * extent;
    const SharedLockGuard held = hold_pairs(guard);
    combine_plain(how, place + done, in != nullptr ? in + done : nullptr,
                  result != nullptr ? result + done : nullptr, bytes_of(std::min(chunk_max, count - begin)));
  }
}

// ----- runs ------------------------------------------------------------------------------------------------

/// A combine() over runs of bytes: where it is, and what it holds of the target's guard.
class Walk {
 public:
  Walk(const Combination& how, const ElementGuard& guard, Count elements, const std::byte* in,
       std::byte* result)
      : how_(how), guard_(guard), in_(in), result_(result) {
    if (guard.is_alone()) return;
    if (elements >= guard.many_words()) guard.demand_locks();
    by_instructions_ = guard.enter();
  }
  ~Walk() {
    if (by_instructions_) guard_.leave();
    if (held_ != nullptr) held_->unlock();
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  /// The next run: `bytes` bytes of whole elements.
  void combine_run(std::byte* place, Count bytes) {
    if (by_instructions_ && is_word(*how_.type, place)) {
      combine_by_instructions(how_, place, in_, result_, bytes_of(bytes) / how_.type->size);
      advance(bytes);
    } else if (guard_.is_alone()) {
      combine_next(place, bytes);
    } else {
      combine_by_blocks(place, bytes);
    }
  }

 private:
  /// An element belongs to the block in which it begins.
  void combine_by_blocks(std::byte* place, Count bytes) {
    const Count size = how_.type->size;
    while (bytes > 0) {
      const ElementGuard::Block block = guard_.block_of(place);
      hold(block.lock);
      const Count part = std::min(bytes, (block.bytes + size - 1) / size * size);
      combine_next(place, part);
      place += part;
      bytes -= part;
    }
  }

  void hold(SharedLock& lock) {
    if (held_ == &lock) return;
    if (held_ != nullptr) held_->unlock();
    lock.lock(guard_.user());
    held_ = &lock;
  }

  void combine_next(std::byte* place, Count bytes) {
    combine_plain(how_, place, in_, result_, bytes_of(bytes) / how_.type->size);
    advance(bytes);
  }

  void advance(Count bytes) {
    if (in_ != nullptr) in_ += bytes;
    if (result_ != nullptr) result_ += bytes;
  }

  const Combination& how_;
  const ElementGuard& guard_;
  const std::byte* in_;
  std::byte* result_;
  bool by_instructions_ = false;  // of words; then this rank has entered
  SharedLock* held_ = nullptr;
};

}  // namespace

bool combine_one(const Combination& how, const ElementGuard& guard, std::byte* place, const std::byte* in,
                 std::byte* result) {
  if (guard.is_alone()) {
    combine_plain(how, place, in, result, 1);
    return false;
  }
  if (is_word(*how.type, place) && guard.enter()) {
    combine_by_instructions(how, place, in, result, 1);
    guard.leave();
    return how.op != kMpiReplace;
  }
  const SharedLockGuard held(&guard.block_of(place).lock, &guard.user());
  combine_plain(how, place, in, result, 1);
  return false;
}

void combine_array(const Combination& how, const ElementGuard& guard, std::byte* place, Count count,
                   const std::byte* in, std::byte* result) {
  if (how.has_padding()) return combine_pair_array(how, guard, place, count, in, result);
  if (count == 1) return static_cast<void>(combine_one(how, guard, place, in, result));
  Walk walk(how, guard, count, in, result);
  walk.combine_run(place, count * how.type->size);
}

void combine(const Combination& how, const Operand& target, Count from, Count to, const std::byte* in,
             std::byte* result) {
  const Datatype& type = *target.datatype;
  const PlacedElements elements{reinterpret_cast<std::uintptr_t>(target.base), target.count, type.extent,
                                *type.layout};
  if (how.has_padding()) return combine_pairs(how, target.guard, elements, from, to, in, result);
  Walk walk(how, target.guard, (to - from) / how.type->size, in, result);
  if (type.contiguous) return walk.combine_run(target.base + from, to - from);
  visit_runs(
      elements, from, to,
      [](void* context, std::byte* place, Count bytes) {
        static_cast<Walk*>(context)->combine_run(place, bytes);
      },
      &walk);
}

// ----- compare and swap ------------------------------------------------------------------------------------

namespace {

template <class Word>
void swap_word(std::byte* place, const std::byte* compare, const std::byte* origin, std::byte* result) {
  Word expected;
  Word wanted;
  std::memcpy(&expected, compare, sizeof expected);
  std::memcpy(&wanted, origin, sizeof wanted);
  std::atomic_ref<Word> cell(*reinterpret_cast<Word*>(place));
  cell.compare_exchange_strong(expected, wanted, std::memory_order_acq_rel, std::memory_order_acquire);
  std::memcpy(result, &expected, sizeof expected);
}

void swap_by_instruction(const BasicInfo& type, std::byte* place, const std::byte* compare,
                         const std::byte* origin, std::byte* result) {
  switch (type.size) {
    case 1:
      return swap_word<std::uint8_t>(place, compare, origin, result);
    case 2:
      return swap_word<std::uint16_t>(place, compare, origin, result);
    case 4:
      return swap_word<std::uint32_t>(place, compare, origin, result);
    default:
      return swap_word<std::uint64_t>(place, compare, origin, result);
  }
}

}  // namespace

void compare_and_swap(const BasicInfo& type, const ElementGuard& guard, std::byte* place,
                      const std::byte* compare, const std::byte* origin, std::byte* result) {
  if (!guard.is_alone() && is_word(type, place) && guard.enter()) {
    swap_by_instruction(type, place, compare, origin, result);
    return guard.leave();
  }
  std::byte old[kElementBytesMax];
  {
    const SharedLockGuard held(guard.is_alone() ? nullptr : &guard.block_of(place).lock,
                               guard.is_alone() ? nullptr : &guard.user());
    std::memcpy(old, place, type.size);
    if (std::memcmp(old, compare, type.size) == 0) std::memcpy(place, origin, type.size);
  }
  std::memcpy(result, old, type.size);
}

}  // namespace tasuki::rma
