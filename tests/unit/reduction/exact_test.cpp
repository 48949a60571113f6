// Exact reductions against an oracle that knows nothing of formats: a number with a counter for each power of
// two says whether a result is the one next to the sum.
#include "reduction/exact.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "datatype/datatype.hpp"
#include "datatype/predefined.hpp"
#include "object/objects.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

template <class T>
using Limits = std::numeric_limits<T>;

template <class T>
class Exact {
 public:
  void add(T value, int times) {
    int exponent;
    const T fraction = std::frexp(value, &exponent);
    auto digits = static_cast<std::int64_t>(std::ldexp(std::fabs(fraction), 62));
    if (Limits<T>::digits > 62) {  // x87: what is left of the digits
      const T rest = std::ldexp(std::fabs(fraction), 62) - static_cast<T>(digits);
      add_digits(static_cast<std::int64_t>(std::ldexp(rest, 2)), exponent - 64, value < 0 ? -times : times);
    }
    add_digits(digits, exponent - 62, value < 0 ? -times : times);
  }
  void add_digits(std::int64_t digits, int exponent, int times) {
    for (; digits != 0; digits >>= 1, ++exponent)
      if ((digits & 1) != 0) at(exponent) += times;
  }
  int sign() const {
    std::vector<std::int64_t> sum = counters_;
    bool any = false;
    for (std::size_t i = 0; i + 1 < sum.size(); ++i) {
      sum[i + 1] += sum[i] >> 1;
      any |= (sum[i] & 1) != 0;
    }
    return sum.back() < 0 ? -1 : any || sum.back() > 0 ? 1 : 0;
  }

 private:
  static constexpr int kLow = Limits<T>::min_exponent - Limits<T>::digits - 66;
  std::int64_t& at(int exponent) { return counters_[static_cast<std::size_t>(exponent - kLow)]; }
  std::vector<std::int64_t> counters_ =
      std::vector<std::int64_t>(static_cast<std::size_t>(Limits<T>::max_exponent - kLow + 40));
};

/// The sign of the sum of twice all `terms` less `result` and the number after it in the direction of `to`.
template <class T>
int beyond_the_middle(const std::vector<T>& terms, T result, T to) {
  Exact<T> difference;
  for (const T term : terms) difference.add(term, 2);
  const auto take = [&](T value) {
    if (std::isfinite(value)) return difference.add(value, -1);
    difference.add_digits(1, Limits<T>::max_exponent, value < 0 ? 1 : -1);
  };
  take(result);
  take(std::nextafter(result, to));
  return difference.sign();
}

template <class T>
bool is_even(T value) {
  if (!std::isfinite(value)) return true;
  value = std::fabs(value);
  const T step = value == 0 ? Limits<T>::denorm_min() : value - std::nextafter(value, T{0});
  const T upper = std::nextafter(value, Limits<T>::infinity()) - value;
  return std::fmod(value / (std::isfinite(upper) ? upper : step), T{2}) == 0;
}

/// Whether `result` is the sum of the finite `terms`, rounded to nearest, of two to the even one.
template <class T>
bool is_rounded_sum(const std::vector<T>& terms, T result) {
  const T infinity = Limits<T>::infinity();
  const int above = beyond_the_middle(terms, result, infinity);
  const int below = beyond_the_middle(terms, result, -infinity);
  if (std::isinf(result)) {  // where there is nothing behind it
    return result > 0 ? below >= 0 : above <= 0;
  }
  return above <= (is_even(result) ? 0 : -1) && below >= (is_even(result) ? 0 : 1);
}

struct Types {
  Predefined real, complex;
};
template <class T>
constexpr Types kTypes = {kMpiDouble, kMpiCDoubleComplex};
template <>
constexpr Types kTypes<float> = {kMpiFloat, kMpiCFloatComplex};
template <>
constexpr Types kTypes<long double> = {kMpiLongDouble, kMpiCLongDoubleComplex};
template <>
constexpr Types kTypes<Half> = {kMpixCFloat16, kMpixCFloat16};

class Kernels {
 public:
  explicit Kernels(Process& process) : objects_(*process.objects) {}
  Op& op(Predefined number) const { return *static_cast<Op*>(objects_.predefined[number]); }
  Datatype& type(Predefined number) const { return *static_cast<Datatype*>(objects_.predefined[number]); }

  /// Element i: vectors[0][i] op vectors[1][i] ...
  template <class T>
  std::vector<T> run(Predefined number, const std::vector<std::vector<T>>& vectors,
                     bool in_place = false) const {
    std::vector<std::vector<T>> operands = vectors;
    std::vector<T> result(vectors[0].size());
    std::vector<const void*> places;
    for (auto& operand : operands) places.push_back(operand.data());
    std::vector<T>& to = in_place ? operands.back() : result;
    find_exact_kernel(op(number), type(kTypes<T>.real))(places.data(), places.size(), to.data(), to.size());
    return to;
  }
  template <class T>
  T sum(const std::vector<T>& terms) const {
    std::vector<std::vector<T>> vectors;
    for (const T term : terms) vectors.push_back({term});
    return run(kMpiSum, vectors)[0];
  }

 private:
  Objects& objects_;
};

template <class Test>
void with_kernels(Test&& test) {
  test::run_ranks(1, [&](Process& process) { test(Kernels(process)); });
}

template <class T>
T random_number(std::mt19937_64& random, int lowest, int highest) {
  const int exponent = std::uniform_int_distribution<int>(lowest, highest)(random);
  const T fraction = static_cast<T>(random() | 1) / static_cast<T>(0x1p64);
  return std::ldexp(random() % 2 == 0 ? fraction : -fraction, exponent);
}

/// Terms near one another, of the whole range, of subnormals, near overflow; with some that cancel.
template <class T>
void try_random_terms(const Kernels& kernels, int cases) {
  std::mt19937_64 random(1);
  constexpr int kLeast = Limits<T>::min_exponent - Limits<T>::digits, kMost = Limits<T>::max_exponent;
  constexpr int kRanges[][2] = {
      {-3, 3}, {-40, 40}, {kLeast, kMost}, {kLeast, kLeast + 20}, {kMost - 2, kMost}};
  for (int number = 0; number < cases; ++number) {
    const auto& [lowest, highest] = kRanges[number % 5];
    std::vector<T> terms;
    for (auto left = 1 + random() % 12; left > 0; --left)
      terms.push_back(random_number<T>(random, lowest, highest));
    if (number % 3 == 0) {
      for (std::size_t i = 0, end = terms.size(); i + 1 < end; ++i) terms.push_back(-terms[i]);
    }
    const T sum = kernels.sum(terms);
    ASSERT_TRUE(is_rounded_sum(terms, sum)) << testing::PrintToString(terms) << " gives " << sum;
    std::shuffle(terms.begin(), terms.end(), random);
    terms.insert(terms.begin(), {T{0}, -T{0}});
    ASSERT_EQ(kernels.sum(terms), sum);
    ASSERT_FALSE(sum == 0 && std::signbit(sum));
  }
}

TEST(Exact, SumsAreRoundedOnce) {
  with_kernels([](const Kernels& kernels) {
    try_random_terms<double>(kernels, 3000);
    try_random_terms<float>(kernels, 3000);
    try_random_terms<long double>(kernels, 300);
  });
}

template <class T>
void try_ties(const Kernels& kernels) {
  const T step = Limits<T>::epsilon(), half = step / 2, least = Limits<T>::denorm_min();
  EXPECT_EQ(kernels.sum<T>({1, half}), T{1});
  EXPECT_EQ(kernels.sum<T>({1, half, least}), 1 + step);
  EXPECT_EQ(kernels.sum<T>({1 + step, half}), 1 + 2 * step);
  EXPECT_EQ(kernels.sum<T>({1 + step, half, -least}), 1 + step);
  EXPECT_EQ(kernels.sum<T>({-1, -half, least}), T{-1});
  const T most = Limits<T>::max(), infinity = Limits<T>::infinity();
  const T last = most - std::nextafter(most, T{0});
  EXPECT_EQ(kernels.sum<T>({most, most, -most}), most);
  EXPECT_EQ(kernels.sum<T>({most, most, -most, -most, least}), least);
  EXPECT_EQ(kernels.sum<T>({most, last / 2}), infinity);
  EXPECT_EQ(kernels.sum<T>({most, last / 2, -least}), most);
  EXPECT_EQ(kernels.sum<T>({-most, -most}), -infinity);
  EXPECT_EQ(kernels.sum<T>({Limits<T>::min(), -least}), Limits<T>::min() - least);
}

template <class T>
void try_special_values(const Kernels& kernels) {
  const T infinity = Limits<T>::infinity(), nan = Limits<T>::quiet_NaN(), most = Limits<T>::max();
  EXPECT_EQ(kernels.sum<T>({infinity, -most, 1}), infinity);
  EXPECT_EQ(kernels.sum<T>({-infinity, most, most}), -infinity);
  const auto is_the_nan = [](T value) { return std::isnan(value) && !std::signbit(value); };
  for (const std::vector<T>& terms : {std::vector<T>{-nan, 1}, {infinity, -infinity}, {infinity, 1, -nan}}) {
    EXPECT_TRUE(is_the_nan(kernels.sum<T>(terms)));
    EXPECT_TRUE(is_the_nan(kernels.sum<T>({terms.rbegin(), terms.rend()})));
  }
  for (const T zero : {T{0}, -T{0}}) EXPECT_FALSE(std::signbit(kernels.sum<T>({zero})));
  for (const Predefined op : {kMpiMin, kMpiMax}) {
    const auto get = [&](T first, T second, T third) {
      return kernels.run<T>(op, {{first}, {second}, {third}})[0];
    };
    for (const bool zero_first : {false, true})
      EXPECT_EQ(std::signbit(get(zero_first ? T{0} : -T{0}, zero_first ? -T{0} : T{0}, 0)), op == kMpiMin);
    EXPECT_EQ(get(1, -infinity, 2), op == kMpiMin ? -infinity : T{2});
    EXPECT_TRUE(is_the_nan(get(-nan, 1, 2)) && is_the_nan(get(1, 2, -nan)));
  }
}

TEST(Exact, Ties) {
  with_kernels([](const Kernels& kernels) {
    try_ties<float>(kernels);
    try_ties<double>(kernels);
    try_ties<long double>(kernels);
  });
}

TEST(Exact, InfinitiesZerosAndWhatIsNoNumber) {
  with_kernels([](const Kernels& kernels) {
    try_special_values<float>(kernels);
    try_special_values<double>(kernels);
    try_special_values<long double>(kernels);
  });
}

TEST(Exact, LongVectorsComplexNumbersAndInPlace) {
  with_kernels([](const Kernels& kernels) {
    std::mt19937_64 random(7);
    constexpr std::size_t kCount = 515;  // several blocks, and a rest
    std::vector<std::vector<double>> vectors(5);
    for (std::size_t i = 0; i < 2 * kCount; ++i)
      for (auto& vector : vectors)
        vector.push_back(random_number<double>(random, -400, i % 7 == 0 ? 400 : -390));
    const std::vector<double> sums = kernels.run(kMpiSum, vectors);
    EXPECT_EQ(kernels.run(kMpiSum, vectors, true), sums);
    for (std::size_t i = 0; i < sums.size(); i += 13) {
      std::vector<double> terms;
      for (const auto& vector : vectors) terms.push_back(vector[i]);
      EXPECT_TRUE(is_rounded_sum(terms, sums[i]));
    }
    std::vector<const void*> places;
    for (const auto& vector : vectors) places.push_back(vector.data());
    std::vector<double> complex(sums.size());
    find_exact_kernel(kernels.op(kMpiSum), kernels.type(kMpiCDoubleComplex))(places.data(), places.size(),
                                                                             complex.data(), kCount);
    EXPECT_EQ(complex, sums);
  });
}

/// Of halves: the nearest of all.
TEST(Exact, SumsOfHalves) {
  with_kernels([](const Kernels& kernels) {
    std::mt19937 random(3);
    for (int number = 0; number < 300; ++number) {
      std::vector<Half> terms;
      double exact = 0;
      for (int left = 0; left < 9; ++left) {
        terms.push_back(std::bit_cast<Half>(static_cast<std::uint16_t>(
            random() % (number % 2 == 0 ? 0x7c00 : 0x700) | (random() % 2) << 15)));
        exact += static_cast<double>(static_cast<float>(terms.back()));
      }
      const auto got = static_cast<double>(static_cast<float>(kernels.sum(terms)));
      double nearest = 0;
      bool is_tie = false;
      std::uint16_t even = 0;
      for (std::uint16_t bits = 0; bits <= 0x7c00; ++bits) {
        const double value =
            bits == 0x7c00 ? 0x1p16 : static_cast<double>(static_cast<float>(std::bit_cast<Half>(bits)));
        const double better = std::fabs(std::fabs(exact) - nearest) - std::fabs(std::fabs(exact) - value);
        is_tie = better == 0;
        if (better > 0 || (is_tie && bits % 2 == 0)) nearest = value, even = bits;
      }
      if (even == 0x7c00) nearest = std::numeric_limits<double>::infinity();
      ASSERT_EQ(got, exact < 0 ? -nearest : nearest) << exact;
    }
  });
}

TEST(Exact, Quads) {
  with_kernels([](const Kernels& kernels) {
    const Quad one = 1, large = static_cast<Quad>(0x1p500) * static_cast<Quad>(0x1p500);
    const Quad terms[] = {large, one, -large, large, -large};
    const void* places[5];
    for (int i = 0; i < 5; ++i) places[i] = &terms[i];
    Quad sum = 0;
    find_exact_kernel(kernels.op(kMpiSum), kernels.type(kMpiReal16))(places, 5, &sum, 1);
    EXPECT_TRUE(sum == one);
  });
}

TEST(Exact, WhatIsNotExactHasAnOrder) {
  with_kernels([](const Kernels& kernels) {
    const auto for_exact = [&](Predefined op, Predefined type) {
      return repeatable_for(Repeatable::kExact, kernels.op(op), kernels.type(type));
    };
    EXPECT_EQ(for_exact(kMpiSum, kMpiDouble), Repeatable::kExact);
    EXPECT_EQ(for_exact(kMpiSum, kMpiCFloatComplex), Repeatable::kExact);
    EXPECT_EQ(for_exact(kMpiMax, kMpiFloat), Repeatable::kExact);
    EXPECT_EQ(for_exact(kMpiProd, kMpiDouble), Repeatable::kOrder);
    EXPECT_EQ(for_exact(kMpiProd, kMpiCDoubleComplex), Repeatable::kOrder);
    EXPECT_EQ(for_exact(kMpiMaxloc, kMpiDoubleInt), Repeatable::kOrder);
    EXPECT_EQ(for_exact(kMpiSum, kMpiInt), Repeatable::kNo);
    EXPECT_EQ(for_exact(kMpiBand, kMpiByte), Repeatable::kNo);
    Op users;
    users.function = reinterpret_cast<AnyFunction>(1);
    EXPECT_EQ(repeatable_for(Repeatable::kExact, users, kernels.type(kMpiDouble)), Repeatable::kOrder);
    EXPECT_EQ(repeatable_for(Repeatable::kOrder, kernels.op(kMpiSum), kernels.type(kMpiDouble)),
              Repeatable::kOrder);
  });
}

}  // namespace
}  // namespace tasuki
