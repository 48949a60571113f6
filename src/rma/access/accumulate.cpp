// Accumulates: by the processor's atomic instructions, or under the target's lock.
#include "rma/access/accumulate.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "datatype/layout.hpp"
#include "datatype/signature.hpp"

namespace tasuki::rma {
namespace {

constexpr std::size_t kChunkBytes = 4096;  // combined under one hold of the lock
constexpr std::size_t kElementBytesMax = 32;
constexpr auto kOrder = std::memory_order_acq_rel;

std::size_t bytes_of(Count bytes) {
  return static_cast<std::size_t>(bytes);
}

// ----- by the processor ------------------------------------------------------------------------------------

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
      if (!is_integer(*how.type)) break;
      return each([](auto cell, Word value) { return cell.fetch_add(value, kOrder); });
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

/// The rule of accumulate.hpp.
bool is_word(const BasicInfo& type, const std::byte* place) {
  const std::size_t size = type.size;
  return type.size == type.extent && size <= 8 && (size & (size - 1)) == 0 &&
         reinterpret_cast<std::uintptr_t>(place) % size == 0;
}

template <class Word>
bool fetch_one(std::uint16_t op, std::byte* place, const std::byte* in, std::byte* result) {
  std::atomic_ref<Word> cell(*reinterpret_cast<Word*>(place));
  Word operand{};
  if (op != kMpiNoOp) std::memcpy(&operand, in, sizeof operand);
  switch (op) {
    case kMpiSum:
      operand = cell.fetch_add(operand, kOrder);
      break;
    case kMpiReplace:
      operand = cell.exchange(operand, kOrder);
      break;
    case kMpiNoOp:
      operand = cell.load(std::memory_order_acquire);
      break;
    default:
      return false;
  }
  std::memcpy(result, &operand, sizeof operand);
  return true;
}

// ----- under the lock --------------------------------------------------------------------------------------

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
void combine_packed(const Combination& how, const std::byte* in, std::byte* inout, std::size_t bytes) {
  if (how.op == kMpiReplace) {
    std::memcpy(inout, in, bytes);
    return;
  }
  if (how.op == kMpiNoOp) return;
  const BasicInfo& type = *how.type;
  const std::size_t count = bytes / type.size;
  alignas(16) std::byte first[2 * kChunkBytes];  // structs may be up to twice as long as packed
  alignas(16) std::byte second[2 * kChunkBytes];
  if (type.size == type.extent) {
    std::memcpy(first, in, bytes);
    std::memcpy(second, inout, bytes);
    how.kernel(first, second, second, count);
    std::memcpy(inout, second, bytes);
    return;
  }
  std::memset(first, 0, count * type.extent);
  std::memset(second, 0, count * type.extent);
  move_pairs(type, first, const_cast<std::byte*>(in), count, false);
  move_pairs(type, second, inout, count, false);
  how.kernel(first, second, second, count);
  move_pairs(type, second, inout, count, true);
}

void combine_locked(const Combination& how, const PlacedElements& target, Count from, Count to,
                    const std::byte* in, std::byte* result, SharedMutex& mutex) {
  const Count chunk_max = static_cast<Count>(kChunkBytes / how.type->size * how.type->size);
  std::byte values[kChunkBytes];
  for (Count begin = from; begin < to; begin += chunk_max) {
    const Count end = std::min(to, begin + chunk_max);
    const std::size_t bytes = bytes_of(end - begin);
    const Count done = begin - from;
    mutex.lock();
    pack_range(target, begin, end, values);
    if (result != nullptr) std::memcpy(result + done, values, bytes);
    if (how.op != kMpiNoOp) {
      combine_packed(how, in + done, values, bytes);
      unpack_range(target, begin, end, values);
    }
    mutex.unlock();
  }
}

// ----- runs ------------------------------------------------------------------------------------------------

/// Where a combine() over several runs is.
struct Walk {
  const Combination& how;
  SharedMutex& mutex;
  const std::byte* in;
  std::byte* result;
};

void combine_run(Walk& walk, std::byte* place, Count bytes) {
  const Combination& how = walk.how;
  const std::size_t count = bytes_of(bytes) / how.type->size;
  if (!is_word(*how.type, place)) {
    Layout run;
    run.size = bytes;
    run.runs = 1;
    combine_locked(how, {reinterpret_cast<std::uintptr_t>(place), 1, bytes, run}, 0, bytes, walk.in,
                   walk.result, walk.mutex);
  } else if (how.type->size == 8) {
    combine_words<std::uint64_t>(how, place, walk.in, walk.result, count);
  } else if (how.type->size == 4) {
    combine_words<std::uint32_t>(how, place, walk.in, walk.result, count);
  } else if (how.type->size == 2) {
    combine_words<std::uint16_t>(how, place, walk.in, walk.result, count);
  } else {
    combine_words<std::uint8_t>(how, place, walk.in, walk.result, count);
  }
  if (walk.in != nullptr) walk.in += bytes;
  if (walk.result != nullptr) walk.result += bytes;
}

// ----- types -----------------------------------------------------------------------------------------------

/// The predefined types at the leaves of how a type was made: the same everywhere, else null. Pairs are
/// leaves: a signature would tell only their members.
const BasicInfo* leaf_of(const Datatype& datatype) {
  if (const BasicInfo* info = basic_info(datatype)) return info;
  const BasicInfo* found = nullptr;
  for (const Datatype* part : datatype.types) {
    if (part->size == 0) continue;
    const BasicInfo* leaf = leaf_of(*part);
    if (leaf == nullptr || (found != nullptr && found != leaf)) return nullptr;
    found = leaf;
  }
  return found;
}

const BasicInfo* basic_of(const Signature& signature) {
  if (signature.basic != 0) return basic_info(signature.basic);
  const BasicInfo* found = nullptr;
  for (const Signature::Part& part : signature.parts) {
    const BasicInfo* basic = basic_of(*part.child);
    if (basic == nullptr || (found != nullptr && found != basic)) return nullptr;
    found = basic;
  }
  return found;
}

}  // namespace

const BasicInfo* basic_type_of(const Datatype& datatype) {
  if (const BasicInfo* info = basic_info(datatype)) return info;
  const BasicInfo* basic = basic_of(*datatype.signature);
  return basic != nullptr ? basic : leaf_of(datatype);
}

bool make_combination(std::uint16_t op, std::uint16_t basic, Combination* combination) {
  const BasicInfo* type = basic_info(basic);
  if (type == nullptr || !type->supported || type->size == 0 || type->size > kElementBytesMax) return false;
  *combination = {type, op, nullptr};
  if (op == kMpiReplace || op == kMpiNoOp) return true;
  combination->kernel = find_reduction_kernel(op, *type);
  return combination->kernel != nullptr;
}

Code make_combination(Process& process, const Op& op, const Datatype& datatype, bool fetches,
                      Combination* combination) {
  if (op.predefined == 0)
    return process.fail(kErrOp, "op is a user's operation, expected a predefined one or MPI_REPLACE");
  if (op.predefined == kMpiNoOp && !fetches)
    return process.fail(kErrOp, "op = MPI_NO_OP, expected an operation that changes the target");
  const BasicInfo* type = basic_type_of(datatype);
  if (type == nullptr)
    return process.fail(kErrType,
                        "target_datatype is made of different basic types, expected one predefined type "
                        "throughout");
  if (make_combination(op.predefined, type->predefined, combination)) return kSuccess;
  return process.fail(kErrOp, "op = %s is not defined for target_datatype = %s", op_name(op), type->name);
}

bool fetch_word(const BasicInfo& type, std::uint16_t op, std::byte* place, const std::byte* in,
                std::byte* result) {
  const bool has_sum = type.group == ReductionGroup::kCInteger ||
                       type.group == ReductionGroup::kFortranInteger ||
                       type.group == ReductionGroup::kMultiLanguage;
  if (!has_sum || !type.supported || !is_integer(type) || !is_word(type, place)) return false;
  if (type.size == 8) return fetch_one<std::uint64_t>(op, place, in, result);
  return type.size == 4 && fetch_one<std::uint32_t>(op, place, in, result);
}

void combine(const Combination& how, const Operand& target, Count from, Count to, const std::byte* in,
             std::byte* result) {
  const Datatype& type = *target.datatype;
  const PlacedElements elements{reinterpret_cast<std::uintptr_t>(target.base), target.count, type.extent,
                                *type.layout};
  if (how.type->size != how.type->extent)
    return combine_locked(how, elements, from, to, in, result, *target.mutex);
  Walk walk{how, *target.mutex, in, result};
  if (type.contiguous) return combine_run(walk, target.base + from, to - from);
  visit_runs(
      elements, from, to,
      [](void* context, std::byte* place, Count bytes) {
        combine_run(*static_cast<Walk*>(context), place, bytes);
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

}  // namespace

void compare_and_swap(const BasicInfo& type, std::byte* place, const std::byte* compare,
                      const std::byte* origin, std::byte* result, SharedMutex& mutex) {
  if (is_word(type, place)) {
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
  std::byte old[kElementBytesMax];
  mutex.lock();
  std::memcpy(old, place, type.size);
  if (std::memcmp(old, compare, type.size) == 0) std::memcpy(place, origin, type.size);
  mutex.unlock();
  std::memcpy(result, old, type.size);
}

bool can_compare_and_swap(const BasicInfo& type) {
  switch (type.group) {
    case ReductionGroup::kCInteger:
    case ReductionGroup::kFortranInteger:
    case ReductionGroup::kLogical:
    case ReductionGroup::kMultiLanguage:
    case ReductionGroup::kByte:
      return type.supported;
    default:
      return false;
  }
}

}  // namespace tasuki::rma
