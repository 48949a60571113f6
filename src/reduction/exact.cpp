// Exact reductions: see reduction/exact.hpp.
//
// The sum of most elements is found by additions that keep their rounding errors (Knuth's TwoSum): `sum` plus
// `error` is exact as long as the errors of adding up the errors, `lost`, are zero. The rest (exponents far
// apart, overflow, infinities and what is not a number) goes through a fixed-point number as long as the
// type's whole range.
//
// This file is compiled with -O3 and without contraction to FMA, as reduction/op_kernels.cpp.
#include "reduction/exact.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "datatype/datatype.hpp"
#include "datatype/predefined.hpp"

namespace tasuki {
namespace {

__extension__ typedef unsigned __int128 Word;

template <class T>
constexpr int kDigits = 113;  // Quad
template <>
constexpr int kDigits<Half> = 11;
template <>
constexpr int kDigits<float> = 24;
template <>
constexpr int kDigits<double> = 53;
template <>
constexpr int kDigits<long double> = LDBL_MANT_DIG;

constexpr Word mask(int bits) {
  return (Word{1} << bits) - 1;
}

/// How a floating type is stored: sign, exponent, fraction, whose leading digit x87's format alone has.
template <class T>
struct Format {
  static constexpr int digits = kDigits<T>;
  static constexpr int exponent_bits = digits == 11 ? 5 : digits == 24 ? 8 : digits == 53 ? 11 : 15;
  static constexpr bool hides_digit = digits != 64;
  static constexpr int stored = digits - (hides_digit ? 1 : 0);
  static constexpr int bits = 1 + exponent_bits + stored;
  static constexpr unsigned exponent_max = (1U << exponent_bits) - 1;  // infinities, and what is no number

  static Word read(const T& value) {
    Word word = 0;
    std::memcpy(&word, &value, bits / 8);
    return word;
  }
  static T make(bool negative, unsigned exponent, Word fraction) {
    const Word word = fraction | Word{exponent} << stored | Word{negative ? 1U : 0U} << (bits - 1);
    T value;
    std::memset(static_cast<void*>(&value), 0, sizeof value);
    std::memcpy(static_cast<void*>(&value), &word, bits / 8);
    return value;
  }
  static T infinity(bool negative) { return make(negative, exponent_max, hides_digit ? 0 : Word{1} << 63); }
  static T not_a_number() {
    return make(false, exponent_max, hides_digit ? Word{1} << (stored - 1) : Word{3} << 62);
  }
};

template <class T>
bool is_negative(const T& value) {
  return (Format<T>::read(value) >> (Format<T>::bits - 1)) != 0;
}

/// A fixed-point number that holds the sum of 2^31 numbers of type T. Its unit is the smallest of T; its
/// limbs have 32 bits, and room for carries.
template <class T>
class FixedPoint {
 public:
  void add(const T& value) {
    const Word word = F::read(value);
    const bool negative = word >> (F::bits - 1) != 0;
    const auto exponent = static_cast<unsigned>(word >> F::stored & mask(F::exponent_bits));
    Word rest = word & mask(F::stored);
    if (exponent == F::exponent_max) {
      if ((rest & mask(F::digits - 1)) != 0) is_nan_ = true;
      (negative ? has_minus_infinity_ : has_infinity_) = true;
      return;
    }
    if (F::hides_digit && exponent > 0) rest |= Word{1} << F::stored;
    const unsigned shift = exponent > 0 ? exponent - 1 : 0;
    auto index = static_cast<int>(shift / 32);
    first_ = std::min(first_, index);
    const auto put = [&](Word digits) {
      const auto limb = static_cast<std::int64_t>(digits & mask(32));
      limbs_[static_cast<std::size_t>(index++)] += negative ? -limb : limb;
    };
    put(rest << shift % 32);
    for (rest >>= 32 - shift % 32; rest != 0; rest >>= 32) put(rest);
    end_ = std::max(end_, index);
  }

  /// Rounded to nearest, of two to the even one. Ends the number.
  T rounded() {
    if (is_nan_ || (has_infinity_ && has_minus_infinity_)) return F::not_a_number();
    if (has_infinity_ || has_minus_infinity_) return F::infinity(has_minus_infinity_);
    end_ = std::min(end_ + 2, kLimbs);  // carries
    const bool negative = carry(false) < 0;
    if (negative) carry(true);
    while (end_ > first_ && limb(end_ - 1) == 0) --end_;
    if (end_ <= first_) return F::make(false, 0, 0);
    const int top = 32 * (end_ - 1) + static_cast<int>(std::bit_width(limb(end_ - 1))) - 1;
    int shift = std::max(0, top - (F::digits - 1));
    Word digits = 0;
    for (int at = shift / 32, have = -(shift % 32); at < end_; ++at, have += 32)
      digits |= have < 0 ? Word{limb(at)} >> -have : Word{limb(at)} << have;
    if (is_rounded_up(shift, digits)) ++digits;
    if (digits >> F::digits != 0) {
      digits >>= 1;
      ++shift;
    }
    const unsigned exponent = digits >> (F::digits - 1) != 0 ? static_cast<unsigned>(shift) + 1 : 0;
    if (exponent >= F::exponent_max) return F::infinity(negative);
    return F::make(negative, exponent, digits & mask(F::stored));
  }

 private:
  using F = Format<T>;
  static constexpr int kLimbs = ((1 << F::exponent_bits) + F::digits) / 32 + 3;

  std::uint64_t limb(int index) const {
    return static_cast<std::uint64_t>(limbs_[static_cast<std::size_t>(index)]);
  }
  /// Makes each limb one of 0 to 2^32 - 1, of the number or of its negative. Returns the carry of the last.
  std::int64_t carry(bool negate) {
    std::int64_t carried = 0;
    for (int index = std::min(first_, end_); index < end_; ++index) {
      std::int64_t& limb = limbs_[static_cast<std::size_t>(index)];
      carried += negate ? -limb : limb;
      limb = carried & 0xffff'ffff;
      carried >>= 32;
    }
    return carried;
  }
  /// Whether what is below bit `shift` is more than a half of it, or a half and `digits` are odd.
  bool is_rounded_up(int shift, Word digits) const {
    if (shift == 0) return false;
    const int half = (shift - 1) / 32;
    const int place = (shift - 1) % 32;
    if ((limb(half) >> place & 1) == 0) return false;
    bool more = (limb(half) & ((std::uint64_t{1} << place) - 1)) != 0;
    for (int index = first_; index < half && !more; ++index) more = limb(index) != 0;
    return more || (digits & 1) != 0;
  }

  std::array<std::int64_t, kLimbs> limbs_{};
  int first_ = kLimbs, end_ = 0;  // the limbs that may not be zero
  bool is_nan_ = false, has_infinity_ = false, has_minus_infinity_ = false;
};

template <class T>
[[gnu::noinline]] T sum_by_fixed_point(const void* const* vectors, std::size_t number, std::size_t index) {
  FixedPoint<T> sum;
  for (std::size_t vector = 0; vector < number; ++vector)
    sum.add(static_cast<const T*>(vectors[vector])[index]);
  return sum.rounded();
}

constexpr std::size_t kBlock = 128;  // elements; what is kept of them stays in the first cache

/// `sum` + `value`; the rounding error goes to `value`.
template <class T>
[[gnu::always_inline]] inline void add_exactly(T& sum, T& value) {
  const T rounded = sum + value;
  const T added = rounded - sum;
  value = (sum - (rounded - added)) + (value - added);
  sum = rounded;
}

template <class T>
[[gnu::always_inline]] inline void sum_elements(const void* const* vectors, std::size_t number, void* result,
                                                std::size_t count) {
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t here = std::min(kBlock, count - begin);
    T sum[kBlock] = {}, error[kBlock] = {}, lost[kBlock] = {};
    for (std::size_t vector = 0; vector < number; ++vector) {
      const T* from = static_cast<const T*>(vectors[vector]) + begin;
      for (std::size_t i = 0; i < here; ++i) {
        T value = from[i];
        add_exactly(sum[i], value);
        add_exactly(error[i], value);
        lost[i] += value < 0 ? -value : value;  // or not a number, to the end
      }
    }
    T* to = static_cast<T*>(result) + begin;
    for (std::size_t i = 0; i < here; ++i) {
      T value = sum[i] + error[i];
      const bool is_exact = lost[i] == 0 && value - value == 0;
      to[i] = is_exact ? value : sum_by_fixed_point<T>(vectors, number, begin + i);
    }
  }
}

template <class T>
void sum_loop(const void* const* vectors, std::size_t number, void* result, std::size_t count) {
  if constexpr (std::is_same_v<T, Half>) {
    for (std::size_t i = 0; i < count; ++i)
      static_cast<T*>(result)[i] = sum_by_fixed_point<T>(vectors, number, i);
  } else {
    sum_elements<T>(vectors, number, result, count);
  }
}

#ifdef __x86_64__
template <class T>
__attribute__((target("avx2"))) void sum_loop_avx2(const void* const* vectors, std::size_t number,
                                                   void* result, std::size_t count) {
  sum_elements<T>(vectors, number, result, count);
}
#endif

struct Sums {
  template <class T>
  static ExactKernel kernel() {
#ifdef __x86_64__
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      if (__builtin_cpu_supports("avx2")) return sum_loop_avx2<T>;
    }
#endif
    return sum_loop<T>;
  }
};

/// A complex number is two real ones.
struct ComplexSums {
  template <class T>
  static void loop(const void* const* vectors, std::size_t number, void* result, std::size_t count) {
    Sums::kernel<T>()(vectors, number, result, 2 * count);
  }
  template <class T>
  static ExactKernel kernel() {
    return loop<T>;
  }
};

template <bool is_maximum>
struct Extremes {
  template <class T>
  static void loop(const void* const* vectors, std::size_t number, void* result, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto operand = [&](std::size_t vector) { return static_cast<const T*>(vectors[vector])[i]; };
      T best = operand(0);
      bool is_nan = best != best;
      for (std::size_t vector = 1; vector < number; ++vector) {
        const T value = operand(vector);
        is_nan |= value != value;
        const bool beats = is_maximum ? value > best : value < best;
        if (beats || (value == best && is_negative(best) == is_maximum)) best = value;
      }
      static_cast<T*>(result)[i] = is_nan ? Format<T>::not_a_number() : best;
    }
  }
  template <class T>
  static ExactKernel kernel() {
    return loop<T>;
  }
};

/// `size`: of a real number.
template <class Kind>
ExactKernel kernel_of_size(std::size_t size, bool quad) {
  if (quad) return Kind::template kernel<Quad>();
  if (size == sizeof(float)) return Kind::template kernel<float>();
  if (size == sizeof(double)) return Kind::template kernel<double>();
  if (size == sizeof(long double)) return Kind::template kernel<long double>();
  return size == sizeof(Half) ? Kind::template kernel<Half>() : nullptr;
}

}  // namespace

ExactKernel find_exact_kernel(const Op& op, const Datatype& datatype) {
  const BasicInfo* info = basic_info(datatype);
  if (info == nullptr) return nullptr;
  if (info->group == ReductionGroup::kComplex)
    return op.predefined == kMpiSum ? kernel_of_size<ComplexSums>(info->size / std::size_t{2}, info->quad)
                                    : nullptr;
  if (info->group != ReductionGroup::kFloating) return nullptr;
  if (op.predefined == kMpiSum) return kernel_of_size<Sums>(info->size, info->quad);
  if (op.predefined == kMpiMin) return kernel_of_size<Extremes<false>>(info->size, info->quad);
  return op.predefined == kMpiMax ? kernel_of_size<Extremes<true>>(info->size, info->quad) : nullptr;
}

Repeatable repeatable_for(Repeatable wanted, const Op& op, const Datatype& datatype) {
  if (wanted != Repeatable::kExact) return wanted;
  if (find_exact_kernel(op, datatype) != nullptr) return Repeatable::kExact;
  const BasicInfo* info = basic_info(datatype);
  if (op.function != nullptr || info == nullptr) return Repeatable::kOrder;
  const bool is_rounded = info->group == ReductionGroup::kFloating || info->group == ReductionGroup::kComplex;
  return is_rounded || info->group == ReductionGroup::kPair ? Repeatable::kOrder : Repeatable::kNo;
}

}  // namespace tasuki
