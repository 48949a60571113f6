// Combining elements: that every operation and type gives what a reduction gives, at any address and with any
// datatype of the target, and that ranks that combine at once lose nothing, whichever way they take.
#include "rma/access/accumulate.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/predefined.hpp"
#include "datatype/call/api.hpp"
#include "object/objects.hpp"
#include "support/world.hpp"

namespace tasuki::rma {
namespace {

constexpr std::uint16_t kOps[] = {kMpiSum,    kMpiProd,   kMpiMin,     kMpiMax, kMpiBand,
                                  kMpiBor,    kMpiBxor,   kMpiLand,    kMpiLor, kMpiLxor,
                                  kMpiMinloc, kMpiMaxloc, kMpiReplace, kMpiNoOp};

Datatype& predefined_type(Process& process, std::uint16_t number) {
  return *static_cast<Datatype*>(process.objects->predefined[number]);
}

/// Small values that every representation has, packed.
std::vector<std::byte> values(const Datatype& type, int count, int seed) {
  std::vector<std::byte> packed(static_cast<std::size_t>(type.size * count));
  const BasicInfo& info = *basic_info(type);
  for (int i = 0; i < count; ++i) {
    std::byte* place = packed.data() + type.size * i;
    const int value = (seed * 7 + i * 3) % 5 + 1;
    if (info.representation == Representation::kFloating && info.size == 8) {
      const double number = value;
      std::memcpy(place, &number, sizeof number);
    } else if (info.representation == Representation::kFloating && info.size == 4) {
      const float number = static_cast<float>(value);
      std::memcpy(place, &number, sizeof number);
    } else if (info.representation == Representation::kFloating && !info.quad && info.size == 16) {
      const long double number = value;
      std::memset(place, 0, sizeof number);
      std::memcpy(place, &number, 10);
    } else if (info.predefined == kMpiDoubleInt) {
      const double number = value;
      std::memcpy(place, &number, sizeof number);
      std::memcpy(place + 8, &value, sizeof value);
    } else {
      place[0] = static_cast<std::byte>(value);  // of integers and pairs of integers: little-endian
    }
  }
  return packed;
}

constexpr int kCount = 300;

/// Combines at `shift` bytes behind an aligned address and compares with the kernel on aligned arrays.
void check(Process& process, std::uint16_t op, std::uint16_t basic, std::size_t shift) {
  Combination how;
  if (!make_combination(op, basic, &how)) return;
  Datatype& type = predefined_type(process, basic);
  const auto extent = static_cast<std::size_t>(type.extent);
  std::vector<std::byte> memory(extent * kCount + 64, std::byte{0});
  auto* base =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 31) / 32 * 32) + shift;
  const std::vector<std::byte> before = values(type, kCount, 1);
  const std::vector<std::byte> operand = values(type, kCount, 2);
  PackCursor(type, kCount).unpack(base, before.data(), before.size());

  std::vector<std::byte> in(extent * kCount + 32), expected(extent * kCount + 32);
  auto* in_structs =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(in.data()) + 15) / 16 * 16);
  auto* structs =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(expected.data()) + 15) / 16 * 16);
  PackCursor(type, kCount).unpack(in_structs, operand.data(), operand.size());
  PackCursor(type, kCount).unpack(structs, op == kMpiReplace ? operand.data() : before.data(), before.size());
  if (how.kernel != nullptr) how.kernel(in_structs, structs, structs, kCount);
  std::vector<std::byte> wanted(before.size());
  PackCursor(type, kCount).pack(structs, wanted.data(), wanted.size());

  SharedMutex mutex{};
  std::vector<std::byte> old(before.size());
  combine(how, {base, kCount, &type, &mutex}, 0, type.size * kCount, operand.data(), old.data());
  std::vector<std::byte> after(before.size());
  PackCursor(type, kCount).pack(base, after.data(), after.size());
  EXPECT_EQ(old, before) << "op " << op << " on " << type.name << " at +" << shift;
  EXPECT_EQ(after, wanted) << "op " << op << " on " << type.name << " at +" << shift;
}

TEST(Accumulate, GivesWhatAReductionGivesAtAnyAddress) {
  test::run_ranks(1, [](Process& process) {
    int combinations = 0;
    for (std::uint16_t basic = 1; basic < kPredefinedCount; ++basic) {
      const BasicInfo* info = basic_info(basic);
      if (info == nullptr || !info->supported || info->size == 0) continue;
      for (const std::uint16_t op : kOps) {
        Combination how;
        combinations += make_combination(op, basic, &how);
        for (const std::size_t shift : {0, 1, 2, 4, 8}) check(process, op, basic, shift);
      }
    }
    EXPECT_GT(combinations, 300);
  });
}

TEST(Accumulate, RefusesWhatIsNotDefined) {
  Combination how;
  EXPECT_FALSE(make_combination(kMpiBand, kMpiDouble, &how));
  EXPECT_FALSE(make_combination(kMpiSum, kMpiWchar, &how));
  EXPECT_FALSE(make_combination(kMpiMaxloc, kMpiInt, &how));
  EXPECT_FALSE(make_combination(kMpiSum, 0, &how));
  EXPECT_FALSE(make_combination(0, kMpiInt, &how));
  EXPECT_TRUE(make_combination(kMpiReplace, kMpiWchar, &how));
}

TEST(Accumulate, KnowsTheBasicTypeOfDerivedOnes) {
  test::run_ranks(1, [](Process& process) {
    Datatype *pairs = nullptr, *mixed = nullptr, *nested = nullptr;
    Datatype& pair = predefined_type(process, kMpiShortInt);
    ASSERT_EQ(api::type_contiguous(process, 3, &pair, &pairs, false), 0);
    ASSERT_EQ(api::type_vector(process, 2, 1, 2, pairs, &nested, false), 0);
    EXPECT_EQ(basic_type_of(*nested), basic_info(kMpiShortInt));
    Datatype* const parts[] = {&predefined_type(process, kMpiInt), &predefined_type(process, kMpiDouble)};
    const int lengths[] = {1, 1};
    const std::int64_t places[] = {0, 8};
    ASSERT_EQ(
        api::type_create_struct(process, 2, CountArray(lengths), CountArray(places), parts, &mixed, false),
        0);
    EXPECT_EQ(basic_type_of(*mixed), nullptr);
    for (Datatype** type : {&nested, &pairs, &mixed}) api::type_free(process, type);
  });
}

/// Eight threads add one to the same elements.
void add_at_once(Process& process, std::uint16_t basic, std::byte* base, const std::vector<std::byte>& one,
                 int rounds) {
  Datatype& type = predefined_type(process, basic);
  Combination how;
  ASSERT_TRUE(make_combination(kMpiSum, basic, &how));
  SharedMutex mutex{};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        combine(how, {base, 1, &type, &mutex}, 0, type.size, one.data(), nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Accumulate, NothingIsLostAmongThreads) {
  test::run_ranks(1, [](Process& process) {
    alignas(16) std::array<std::byte, 64> memory{};
    const auto add = [&]<class T>(std::uint16_t basic, std::size_t shift, T) {
      memory.fill(std::byte{0});
      const T one = 1;
      std::vector<std::byte> operand(sizeof one);
      std::memcpy(operand.data(), &one, sizeof one);
      add_at_once(process, basic, memory.data() + shift, operand, 2000);
      T sum;
      std::memcpy(&sum, memory.data() + shift, sizeof sum);
      EXPECT_EQ(sum, T{16000}) << basic << " at +" << shift;
    };
    add(kMpiInt, 4, int{});                    // a fetching addition
    add(kMpiInt, 3, int{});                    // an odd address: the lock
    add(kMpiDouble, 8, double{});              // compare-and-swap around the kernel
    add(kMpiLongDouble, 16, (long double){});  // the lock
  });
}

TEST(Accumulate, CompareAndSwapTakesTheSameWays) {
  SharedMutex mutex{};
  for (const std::uint16_t basic : {kMpiInt8T, kMpiInt16T, kMpiInt32T, kMpiInt64T, kMpiInteger16}) {
    const BasicInfo& type = *basic_info(basic);
    ASSERT_TRUE(can_compare_and_swap(type)) << type.name;
    for (const std::size_t shift : {0, 1}) {
      alignas(16) std::array<std::byte, 64> memory{};
      std::array<std::byte, 16> compare{}, origin{}, result{};
      origin[0] = std::byte{9};
      std::byte* place = memory.data() + shift;
      compare_and_swap(type, place, compare.data(), origin.data(), result.data(), mutex);
      EXPECT_EQ(place[0], std::byte{9});
      EXPECT_EQ(result[0], std::byte{0});
      origin[0] = std::byte{4};
      compare_and_swap(type, place, compare.data(), origin.data(), result.data(), mutex);
      EXPECT_EQ(place[0], std::byte{9}) << "what did not compare equal was replaced";
      EXPECT_EQ(result[0], std::byte{9});
    }
  }
  EXPECT_FALSE(can_compare_and_swap(*basic_info(kMpiDouble)));
}

}  // namespace
}  // namespace tasuki::rma
