// Shows which predefined operations take which types (MPI 6.9.2, 6.9.4), that each pair computes what it
// says, and how a user's operations are called.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "datatype/call/api.hpp"
#include "datatype/predefined.hpp"
#include "environment/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "reduction/api.hpp"
#include "reduction/op_kernels.hpp"
#include "support/world.hpp"

// One test asks for more memory than there is: sanitizers are to answer as the C library does.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}

namespace tasuki {
namespace {

using test::run_ranks;

constexpr Predefined kOrder[] = {kMpiMax, kMpiMin};
constexpr Predefined kArithmetic[] = {kMpiSum, kMpiProd};
constexpr Predefined kBits[] = {kMpiBand, kMpiBor, kMpiBxor};
constexpr Predefined kTruth[] = {kMpiLand, kMpiLor, kMpiLxor};
constexpr Predefined kPairs[] = {kMpiMaxloc, kMpiMinloc};
constexpr Predefined kNoReductions[] = {kMpiReplace, kMpiNoOp};

/// The table of MPI 6.9.2, and what MPICH takes beside it, by groups: C integer, Fortran integer, floating,
/// logical, complex, byte, multi-language, and the pairs of 6.9.4.
bool is_defined(Predefined op, ReductionGroup group) {
  using enum ReductionGroup;
  const auto is_in = [op](const auto& list) {
    return std::find(std::begin(list), std::end(list), op) != std::end(list);
  };
  const bool integer = group == kCInteger || group == kFortranInteger || group == kMultiLanguage;
  if (is_in(kOrder)) return integer || group == kFloating;
  if (is_in(kArithmetic)) return integer || group == kFloating || group == kComplex;
  if (is_in(kBits)) return integer || group == kByte;
  if (is_in(kTruth)) return group == kCInteger || group == kLogical || group == kMultiLanguage;  // as MPICH
  if (is_in(kPairs)) return group == kPair;
  return false;
}

void for_each_pair(Process& process, const std::function<void(Op&, Datatype&, const BasicInfo&)>& body) {
  for (std::uint16_t number = 0; number < kPredefinedCount; ++number) {
    const BasicInfo* info = basic_info(number);
    if (info == nullptr) continue;
    for (std::uint16_t op = kMpiSum; op <= kMpiNoOp; ++op) {
      if (process.objects->predefined[op] == nullptr) continue;
      body(*static_cast<Op*>(process.objects->predefined[op]),
           *static_cast<Datatype*>(process.objects->predefined[number]), *info);
    }
  }
}

TEST(Op, TakesTheTypesOfTheStandardAndOfMpich) {
  run_ranks(1, [](Process& process) {
    int defined = 0;
    for_each_pair(process, [&](Op& op, Datatype& datatype, const BasicInfo& info) {
      const bool expected = is_defined(static_cast<Predefined>(op.predefined), info.group);
      EXPECT_EQ(op_accepts(op, datatype), expected) << op_name(op) << " " << info.name;
      defined += expected ? 1 : 0;
    });
    EXPECT_GT(defined, 300);
    for (const Predefined number : kNoReductions)
      EXPECT_FALSE(op_accepts(*predefined_object<Op>(*process.objects, number),
                              *predefined_object<Datatype>(*process.objects, kMpiInt)));
  });
}

/// Applies `op` to arrays of T, longer than a vector register and of odd length.
template <class T>
std::vector<T> reduce(Process& process, Predefined op, std::uint16_t type, const std::vector<T>& in,
                      std::vector<T> inout) {
  EXPECT_EQ(api::reduce_local(process, in.data(), inout.data(), static_cast<Count>(in.size()),
                              predefined_object<Datatype>(*process.objects, static_cast<Predefined>(type)),
                              predefined_object<Op>(*process.objects, op)),
            kSuccess);
  return inout;
}

template <class T>
void check_numbers(Process& process, std::uint16_t type) {
  std::vector<T> a;
  std::vector<T> b;
  for (int i = 0; i < 67; ++i) {
    a.push_back(static_cast<T>(i % 11));
    b.push_back(static_cast<T>((i * 7 + 3) % 10));
  }
  const std::vector<T> max = reduce(process, kMpiMax, type, a, b);
  const std::vector<T> min = reduce(process, kMpiMin, type, a, b);
  const std::vector<T> sum = reduce(process, kMpiSum, type, a, b);
  const std::vector<T> product = reduce(process, kMpiProd, type, a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(max[i] == (a[i] > b[i] ? a[i] : b[i]));
    EXPECT_TRUE(min[i] == (a[i] < b[i] ? a[i] : b[i]));
    EXPECT_TRUE(sum[i] == static_cast<T>(a[i] + b[i]));
    EXPECT_TRUE(product[i] == static_cast<T>(a[i] * b[i]));
  }
}

template <class T>
void check_bits(Process& process, std::uint16_t type) {
  std::vector<T> a;
  std::vector<T> b;
  for (int i = 0; i < 67; ++i) {
    a.push_back(static_cast<T>(i * 37));
    b.push_back(static_cast<T>(i * 101 + 1));
  }
  const std::vector<T> band = reduce(process, kMpiBand, type, a, b);
  const std::vector<T> bor = reduce(process, kMpiBor, type, a, b);
  const std::vector<T> bxor = reduce(process, kMpiBxor, type, a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(band[i] == static_cast<T>(a[i] & b[i]));
    EXPECT_TRUE(bor[i] == static_cast<T>(a[i] | b[i]));
    EXPECT_TRUE(bxor[i] == static_cast<T>(a[i] ^ b[i]));
  }
}

template <class T>
void check_truth(Process& process, std::uint16_t type, T truth) {
  const std::vector<T> a = {0, 0, truth, truth};
  const std::vector<T> b = {0, 1, 0, 1};
  EXPECT_TRUE(reduce(process, kMpiLand, type, a, b) == (std::vector<T>{0, 0, 0, 1}));
  EXPECT_TRUE(reduce(process, kMpiLor, type, a, b) == (std::vector<T>{0, 1, 1, 1}));
  EXPECT_TRUE(reduce(process, kMpiLxor, type, a, b) == (std::vector<T>{0, 1, 1, 0}));
}

/// Calls `check` with a value of the integer type that the table describes.
template <class Check>
bool with_integer(const BasicInfo& info, Check&& check) {
  const bool is_signed = info.representation == Representation::kSigned;
  switch (info.size) {
    case 1:
      is_signed ? check(std::int8_t{}) : check(std::uint8_t{});
      return true;
    case 2:
      is_signed ? check(std::int16_t{}) : check(std::uint16_t{});
      return true;
    case 4:
      is_signed ? check(std::int32_t{}) : check(std::uint32_t{});
      return true;
    case 8:
      is_signed ? check(std::int64_t{}) : check(std::uint64_t{});
      return true;
    case 16:
      check(Int128{});
      return true;
    default:
      return false;
  }
}

template <class Check>
bool with_floating(std::size_t size, bool quad, Check&& check) {
  if (quad) {
    check(Quad{});
    return true;
  }
  if (size == 2) {
    check(Half{});
    return true;
  }
  if (size == 4) check(float{});
  if (size == 8) check(double{});
  if (size == sizeof(long double)) check(static_cast<long double>(0));
  return size == 4 || size == 8 || size == sizeof(long double);
}

TEST(Op, ComputesOnEveryType) {
  run_ranks(1, [](Process& process) {
    int checked = 0;
    for (std::uint16_t number = 0; number < kPredefinedCount; ++number) {
      const BasicInfo* info = basic_info(number);
      if (info == nullptr) continue;
      SCOPED_TRACE(info->name);
      switch (info->group) {
        case ReductionGroup::kCInteger:
        case ReductionGroup::kMultiLanguage:
          ASSERT_TRUE(with_integer(
              *info, [&](auto zero) { check_truth(process, number, static_cast<decltype(zero)>(64)); }));
          [[fallthrough]];
        case ReductionGroup::kFortranInteger:
          ASSERT_TRUE(with_integer(*info, [&](auto zero) {
            check_numbers<decltype(zero)>(process, number);
            check_bits<decltype(zero)>(process, number);
          }));
          break;
        case ReductionGroup::kLogical:
          ASSERT_TRUE(with_integer(
              *info, [&](auto zero) { check_truth(process, number, static_cast<decltype(zero)>(1)); }));
          break;
        case ReductionGroup::kFloating:
          ASSERT_TRUE(with_floating(info->size, info->quad,
                                    [&](auto zero) { check_numbers<decltype(zero)>(process, number); }));
          break;
        case ReductionGroup::kByte:
          check_bits<std::uint8_t>(process, number);
          break;
        default:
          continue;
      }
      ++checked;
    }
    EXPECT_GE(checked, 45);
  });
}

/// Vectors and the rest after them compute the same bits; so where an element lies changes nothing.
TEST(Op, AnElementsResultDoesNotDependOnItsPlace) {
  run_ranks(1, [](Process& process) {
    constexpr std::size_t kElements = 67;
    int checked = 0;
    for_each_pair(process, [&](Op& op, Datatype& datatype, const BasicInfo& info) {
      const bool is_complex = info.group == ReductionGroup::kComplex;
      const bool has_real = is_complex || info.group == ReductionGroup::kFloating;
      const bool has_padding = has_real && !info.quad && info.size / (is_complex ? 2 : 1) > sizeof(double);
      const ReductionKernel kernel = find_reduction_kernel(op, datatype);
      if (kernel == nullptr || info.group == ReductionGroup::kPair || has_padding) return;
      const std::size_t bytes = info.size;
      std::vector<std::uint8_t> left(kElements * bytes), right = left, all = left, one(bytes);
      std::uint32_t random = 1;
      for (std::vector<std::uint8_t>* operand : {&left, &right}) {
        // Without the highest bit of an exponent there is no NaN.
        for (std::uint8_t& byte : *operand)
          byte = static_cast<std::uint8_t>((random = random * 1664525 + 1013904223) >> 24 & 0xbf);
      }
      kernel(left.data(), right.data(), all.data(), kElements);
      for (std::size_t at = 0; at < all.size(); at += bytes) {
        kernel(left.data() + at, right.data() + at, one.data(), 1);
        ASSERT_EQ(std::memcmp(one.data(), all.data() + at, bytes), 0)
            << op_name(op) << " of " << info.name << ", element " << at / bytes;
      }
      ++checked;
    });
    EXPECT_GE(checked, 200);
  });
}

TEST(Op, ComplexProductsAndSums) {
  run_ranks(1, [](Process& process) {
    int checked = 0;
    for (std::uint16_t number = 0; number < kPredefinedCount; ++number) {
      const BasicInfo* info = basic_info(number);
      if (info == nullptr || info->group != ReductionGroup::kComplex) continue;
      SCOPED_TRACE(info->name);
      ASSERT_TRUE(with_floating(info->size / 2u, info->quad, [&](auto zero) {
        using T = decltype(zero);
        struct Both {
          T real, imaginary;
          bool operator==(const Both&) const = default;
        };
        std::vector<Both> a(9, {T(1), T(2)});
        std::vector<Both> b(9, {T(3), T(-4)});
        EXPECT_TRUE(reduce(process, kMpiProd, number, a, b) == std::vector<Both>(9, {T(11), T(2)}));
        EXPECT_TRUE(reduce(process, kMpiSum, number, a, b) == std::vector<Both>(9, {T(4), T(-2)}));
      }));
      ++checked;
    }
    EXPECT_GE(checked, 10);
  });
}

template <class V, class I>
void check_pairs(Process& process, std::uint16_t type) {
  struct Both {
    V value;
    I index;
  };
  ASSERT_EQ(sizeof(Both), basic_info(type)->extent);
  const auto run = [&](Predefined op, Both a, Both b) {
    return reduce<Both>(process, op, type, {a}, {b})[0];
  };
  const auto equals = [](Both a, Both b) { return a.value == b.value && a.index == b.index; };
  EXPECT_TRUE(equals(run(kMpiMaxloc, {5, 9}, {4, 1}), {5, 9}));
  EXPECT_TRUE(equals(run(kMpiMaxloc, {4, 1}, {5, 9}), {5, 9}));
  EXPECT_TRUE(equals(run(kMpiMinloc, {5, 9}, {4, 1}), {4, 1}));
  EXPECT_TRUE(equals(run(kMpiMinloc, {-5, 9}, {4, 1}), {-5, 9}));
  // Equal values: the smaller index.
  for (const Predefined op : kPairs) {
    EXPECT_TRUE(equals(run(op, {5, 9}, {5, 2}), {5, 2}));
    EXPECT_TRUE(equals(run(op, {5, 2}, {5, 9}), {5, 2}));
  }
}

/// Of the element that is combined into, bytes that are neither the value's nor the index's stay as they are.
template <class V, class I>
void check_gaps_of_pairs(Process& process, std::uint16_t type) {
  struct Both {
    V value;
    I index;
  };
  SCOPED_TRACE(basic_info(type)->name);
  const auto filled = [](int byte, V value) {
    std::vector<Both> pairs(3);
    std::memset(static_cast<void*>(pairs.data()), byte, sizeof(Both) * pairs.size());
    for (Both& one : pairs) {
      one.value = value;
      one.index = 1;
    }
    return pairs;
  };
  for (const Predefined op : kPairs) {
    for (const V value : {V(1), V(2), V(3)}) {  // one loses, both are equal, one wins
      const std::vector<Both> result = reduce(process, op, type, filled(0x55, value), filled(0xaa, V(2)));
      const auto* const bytes = reinterpret_cast<const std::byte*>(result.data());
      for (std::size_t at = 0; at < sizeof(Both) * result.size(); ++at) {
        const std::size_t place = at % sizeof(Both);
        const bool in_value = place < sizeof(V);
        const bool in_index = place >= offsetof(Both, index) && place < offsetof(Both, index) + sizeof(I);
        if (!in_value && !in_index) EXPECT_EQ(bytes[at], std::byte{0xaa}) << "byte " << at;
      }
    }
  }
}

TEST(Op, LocationsOfExtremesLeaveGapsAlone) {
  run_ranks(1, [](Process& process) {
    check_gaps_of_pairs<double, int>(process, kMpiDoubleInt);
    check_gaps_of_pairs<long, int>(process, kMpiLongInt);
    check_gaps_of_pairs<short, int>(process, kMpiShortInt);
    check_gaps_of_pairs<long double, int>(process, kMpiLongDoubleInt);
  });
}

TEST(Op, LocationsOfExtremes) {
  run_ranks(1, [](Process& process) {
    check_pairs<float, int>(process, kMpiFloatInt);
    check_pairs<double, int>(process, kMpiDoubleInt);
    check_pairs<long, int>(process, kMpiLongInt);
    check_pairs<int, int>(process, kMpi2int);
    check_pairs<short, int>(process, kMpiShortInt);
    check_pairs<long double, int>(process, kMpiLongDoubleInt);
    check_pairs<float, float>(process, kMpi2real);
    check_pairs<double, double>(process, kMpi2doublePrecision);
    check_pairs<int, int>(process, kMpi2integer);
  });
}

TEST(Op, SumsWrapAround) {
  run_ranks(1, [](Process& process) {
    EXPECT_EQ(reduce<std::int32_t>(process, kMpiSum, kMpiInt32T, {INT32_MAX}, {1})[0], INT32_MIN);
    EXPECT_EQ(reduce<std::uint16_t>(process, kMpiProd, kMpiUint16T, {65535}, {65535})[0], 1);
    EXPECT_EQ(reduce<std::int8_t>(process, kMpiProd, kMpiInt8T, {-128}, {-1})[0], -128);
  });
}

struct Call {
  Count count;
  const void* in;
};
thread_local std::vector<Call> calls;

void count_calls(const void* in, void*, Count count, Datatype*) {
  calls.push_back({count, in});
}

/// 10 a + b: neither commutative nor for pairs of doubles only.
void join(const void* in, void* inout, Count count, Datatype*) {
  for (Count i = 0; i < 2 * count; ++i)
    static_cast<double*>(inout)[i] += 10 * static_cast<const double*>(in)[i];
}

TEST(Op, UsersFunctionOnADerivedType) {
  run_ranks(1, [](Process& process) {
    Op* op = nullptr;
    ASSERT_EQ(api::op_create(process, reinterpret_cast<AnyFunction>(&join), false, &op, false), kSuccess);
    bool commutative = true;
    EXPECT_EQ(api::op_commutative(process, op, &commutative), kSuccess);
    EXPECT_FALSE(commutative);
    Datatype* pair = nullptr;
    ASSERT_EQ(api::type_contiguous(process, 2, predefined_object<Datatype>(*process.objects, kMpiDouble),
                                   &pair, false),
              kSuccess);
    const double in[] = {1, 2, 3, 4};
    double inout[] = {5, 6, 7, 8};
    EXPECT_EQ(api::reduce_local(process, in, inout, 2, pair, op), kSuccess);
    EXPECT_EQ(std::vector<double>(inout, inout + 4), (std::vector<double>{15, 26, 37, 48}));
    Op* sum = predefined_object<Op>(*process.objects, kMpiSum);
    const Code code = api::reduce_local(process, in, inout, 2, pair, sum);
    EXPECT_EQ(error_class_bits(code), kErrOp);
    EXPECT_EQ(api::op_free(process, &op), kSuccess);
    EXPECT_EQ(op, nullptr);
    EXPECT_EQ(error_class_bits(api::op_free(process, &sum)), kErrOp);
    api::type_free(process, &pair);
  });
}

TEST(Op, LongReductionsAreCutForNarrowFunctions) {
  run_ranks(1, [](Process& process) {
    Datatype* byte = predefined_object<Datatype>(*process.objects, kMpiByte);
    const Count count = 5'000'000'000;
    const char* const in = reinterpret_cast<const char*>(64);  // the function does not look at it
    for (const bool wide : {false, true}) {
      calls.clear();
      Op* op = nullptr;
      ASSERT_EQ(api::op_create(process, reinterpret_cast<AnyFunction>(&count_calls), true, &op, wide),
                kSuccess);
      char inout[1];
      reduce_local(process, *op, in, inout, count, *byte);
      Count sum = 0;
      for (const Call& call : calls) {
        EXPECT_EQ(call.in, in + sum);
        if (!wide) EXPECT_LE(call.count, 0x7fffffff);
        sum += call.count;
      }
      EXPECT_EQ(sum, count);
      EXPECT_EQ(calls.size(), wide ? 1u : 3u);
      api::op_free(process, &op);
    }
  });
}

TEST(Op, ErrorsNameTheArguments) {
  run_ranks(1, [](Process& process) {
    double value = 1;
    Datatype* type = predefined_object<Datatype>(*process.objects, kMpiDouble);
    Op* band = predefined_object<Op>(*process.objects, kMpiBand);
    int other = 0;
    Code code = api::reduce_local(process, &other, &value, 1, type, band);
    EXPECT_EQ(process.errors.text(code), "op = MPI_BAND is not defined for datatype = MPI_DOUBLE");
    Op* sum = predefined_object<Op>(*process.objects, kMpiSum);
    code = api::reduce_local(process, &value, &value, 1, type, sum);
    EXPECT_EQ(error_class_bits(code), kErrBuffer);
    EXPECT_EQ(api::reduce_local(process, &value, &value, 0, type, sum), kSuccess);
    code = api::reduce_local(process, kInPlace, &value, 1, type, sum);
    EXPECT_EQ(error_class_bits(code), kErrBuffer);
    Op* made = nullptr;
    EXPECT_EQ(error_class_bits(api::op_create(process, nullptr, true, &made, false)), kErrArg);
  });
}

TEST(Memory, AlignmentByHint) {
  run_ranks(1, [](Process& process) {
    void* memory = nullptr;
    ASSERT_EQ(api::alloc_mem(process, 100, nullptr, &memory), kSuccess);
    std::memset(memory, 1, 100);
    EXPECT_EQ(api::free_mem(process, memory), kSuccess);
    Info* info = nullptr;
    api::info_create(process, &info);
    api::info_set(process, info, "mpi_minimum_memory_alignment", "4096");
    ASSERT_EQ(api::alloc_mem(process, 0, info, &memory), kSuccess);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
    EXPECT_EQ(api::free_mem(process, memory), kSuccess);
    for (const char* wrong : {"12", "0", "-8", "big", "64k", "99999999999999999999"}) {
      api::info_set(process, info, "mpi_minimum_memory_alignment", wrong);
      EXPECT_EQ(error_class_bits(api::alloc_mem(process, 1, info, &memory)), kErrInfoValue) << wrong;
    }
    EXPECT_EQ(error_class_bits(api::alloc_mem(process, -1, nullptr, &memory)), kErrSize);
    EXPECT_EQ(error_class_bits(api::alloc_mem(process, INT64_MAX / 2, nullptr, &memory)), kErrNoMem);
    api::info_free(process, &info);
  });
}

}  // namespace
}  // namespace tasuki
