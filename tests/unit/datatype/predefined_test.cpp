// Shows the table of predefined types against the compiler's own sizeof and alignof, and what is asked by
// property: MPI_Type_match_size and MPI_Type_get_value_index.
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <set>

#include "datatype/support.hpp"

namespace tasuki::test {
namespace {

struct Expected {
  std::uint16_t number;
  std::size_t size;
  std::size_t alignment;
};

template <class T>
Expected same_as(std::uint16_t number) {
  return {number, sizeof(T), alignof(T)};
}

TEST(Predefined, HaveTheMachinesSizes) {
  with_process([](Process& process) {
    const Expected kExpected[] = {
        same_as<char>(kMpiChar),
        same_as<wchar_t>(kMpiWchar),
        same_as<short>(kMpiShort),
        same_as<int>(kMpiInt),
        same_as<long>(kMpiLong),
        same_as<long long>(kMpiLongLongInt),
        same_as<unsigned char>(kMpiUnsignedChar),
        same_as<unsigned long>(kMpiUnsignedLong),
        same_as<float>(kMpiFloat),
        same_as<double>(kMpiDouble),
        same_as<long double>(kMpiLongDouble),
        same_as<bool>(kMpiCBool),
        same_as<bool>(kMpiCxxBool),
        same_as<std::complex<float>>(kMpiCComplex),
        same_as<std::complex<double>>(kMpiCDoubleComplex),
        same_as<std::complex<long double>>(kMpiCLongDoubleComplex),
        same_as<std::complex<long double>>(kMpiCxxLongDoubleComplex),
        same_as<std::intptr_t>(kMpiAint),
        same_as<std::int64_t>(kMpiOffset),
        same_as<std::int64_t>(kMpiCount),
        {kMpiByte, 1, 1},
        {kMpiPacked, 1, 1},
        {kMpiCharacter, 1, 1},
        {kMpiLogical, 4, 4},
        {kMpiInteger, 4, 4},
        {kMpiReal, 4, 4},
        {kMpiDoublePrecision, 8, 8},
        {kMpiComplex, 8, 4},
        {kMpiDoubleComplex, 16, 8},
        {kMpiLogical2, 2, 2},
        {kMpiInteger8, 8, 8},
        {kMpiComplex16, 16, 8},
    };
    for (const Expected& expected : kExpected) {
      const TypeRef type = named(process, expected.number);
      SCOPED_TRACE(type->name);
      EXPECT_EQ(type->size, static_cast<Count>(expected.size));
      EXPECT_EQ(type->extent, static_cast<Count>(expected.size));
      EXPECT_EQ(type->alignment, static_cast<Count>(expected.alignment));
      EXPECT_TRUE(type->contiguous);
      EXPECT_TRUE(type->committed);
    }
  });
}

struct LongDoubleInt {
  long double value;
  int index;
};
struct ShortInt {
  short value;
  int index;
};

TEST(Predefined, PairsAreLaidOutAsStructs) {
  with_process([](Process& process) {
    const TypeRef wide = named(process, kMpiLongDoubleInt);
    EXPECT_EQ(wide->extent, static_cast<Count>(sizeof(LongDoubleInt)));
    EXPECT_EQ(wide->size, static_cast<Count>(sizeof(long double) + sizeof(int)));
    EXPECT_FALSE(wide->contiguous);
    const TypeRef narrow = named(process, kMpiShortInt);
    EXPECT_EQ(narrow->extent, static_cast<Count>(sizeof(ShortInt)));
    EXPECT_EQ(narrow->size, 6);
    const ShortInt in[2] = {{1, 2}, {3, 4}};
    const unsigned char expected[12] = {1, 0, 2, 0, 0, 0, 3, 0, 4, 0, 0, 0};
    unsigned char out[12];
    PackCursor cursor(*narrow, 2);
    EXPECT_EQ(cursor.pack(in, out, 12), 12u);
    if (std::endian::native == std::endian::little) EXPECT_EQ(std::memcmp(out, expected, 12), 0);
    for (const std::uint16_t number : {kMpi2int, kMpi2real, kMpi2doublePrecision, kMpi2integer}) {
      EXPECT_TRUE(named(process, number)->contiguous);
    }
    for (const std::uint16_t number :
         {kMpiFloatInt, kMpiDoubleInt, kMpiLongInt, kMpiShortInt, kMpiLongDoubleInt}) {
      const TypeRef type = named(process, number);
      expect_bounds(*type, type_map(*basic_info(number)));
      expect_moves(*type, type_map(*basic_info(number)), 5);
    }
  });
}

/// Every datatype number has an entry, with a name of its own; nothing else has.
TEST(Predefined, TableIsWhole) {
  with_process([](Process& process) {
    std::set<std::string> names;
    int types = 0;
    for (std::uint16_t number = 0; number < kPredefinedCount; ++number) {
      const BasicInfo* info = basic_info(number);
      EXPECT_EQ(info != nullptr, number >= kMpiAint && process.objects->predefined[number] != nullptr)
          << number;
      if (info == nullptr) continue;
      ++types;
      EXPECT_EQ(info->predefined, number);
      EXPECT_TRUE(names.insert(info->name).second) << info->name;
      EXPECT_EQ(info->name, named(process, number)->name);
      if (info->representation == Representation::kPair) {
        EXPECT_EQ(basic_info(info->value)->size + basic_info(info->index)->size, info->size);
      } else if (info->size > 0) {
        EXPECT_GT(info->external_size, 0) << info->name;
      }
    }
    EXPECT_EQ(types, 73) << "the 70 of the standard ABI, and MPIX_C_FLOAT16, MPI_LB and MPI_UB of MPICH's";
    EXPECT_EQ(basic_info(kPredefinedCount), nullptr);
    EXPECT_EQ(basic_info(kMpiSum), nullptr);
  });
}

std::uint16_t bits_of(float value) {
  return std::bit_cast<std::uint16_t>(Half(value));
}

TEST(HalfTest, EveryNumberBecomesAFloatAndItselfAgain) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto value = static_cast<float>(std::bit_cast<Half>(static_cast<std::uint16_t>(bits)));
    const std::uint32_t exponent = bits >> 10 & 31;
    const std::uint32_t fraction = bits & 0x3ff;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(value) && std::isnan(static_cast<float>(Half(value)))) << bits;
      continue;
    }
    const int shift = exponent == 0 ? -24 : static_cast<int>(exponent) - 25;
    const float magnitude =
        exponent == 31 ? std::numeric_limits<float>::infinity()
                       : std::ldexp(static_cast<float>(fraction + (exponent == 0 ? 0 : 1024)), shift);
    EXPECT_EQ(value, bits < 0x8000 ? magnitude : -magnitude) << bits;
    EXPECT_EQ(bits_of(value), bits);
  }
}

TEST(HalfTest, RoundsToTheNearestAndToEven) {
  // Between two neighbours: at the middle the even one, else the nearer one.
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<float>(std::bit_cast<Half>(bits));
    const auto high = static_cast<float>(std::bit_cast<Half>(static_cast<std::uint16_t>(bits + 1)));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(bits_of(middle), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(bits_of(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(bits_of(std::nextafter(middle, high)), bits + 1);
  }
  EXPECT_EQ(bits_of(65519.99F), 0x7bff);
  EXPECT_EQ(bits_of(65520.0F), 0x7c00) << "infinity";
  EXPECT_EQ(bits_of(-1e30F), 0xfc00);
}

TEST(Predefined, MatchSize) {
  with_process([](Process& process) {
    const auto match = [&](int typeclass, int size) {
      Datatype* type = nullptr;
      EXPECT_EQ(api::type_match_size(process, typeclass, size, &type), kSuccess);
      return static_cast<int>(type->predefined);
    };
    EXPECT_EQ(match(kTypeclassInteger, 1), kMpiInteger1);
    EXPECT_EQ(match(kTypeclassInteger, 8), kMpiInteger8);
    EXPECT_EQ(match(kTypeclassReal, 4), kMpiReal4);
    EXPECT_EQ(match(kTypeclassReal, 8), kMpiReal8);
    EXPECT_EQ(match(kTypeclassComplex, 16), kMpiComplex16);
    Datatype* type = nullptr;
    EXPECT_EQ(failure(process, api::type_match_size(process, kTypeclassReal, 3, &type)), kErrArg);
    EXPECT_EQ(failure(process, api::type_match_size(process, kTypeclassComplex, 3, &type)), kErrArg);
    EXPECT_EQ(failure(process, api::type_match_size(process, 7, 4, &type)), kErrArg);
  });
}

TEST(Predefined, ValueIndexPairs) {
  with_process([](Process& process) {
    const auto pair = [&](std::uint16_t value, std::uint16_t index) {
      Datatype* type = nullptr;
      EXPECT_EQ(
          api::type_get_value_index(process, named(process, value).get(), named(process, index).get(), &type),
          kSuccess);
      return type == nullptr ? 0 : static_cast<int>(type->predefined);
    };
    EXPECT_EQ(pair(kMpiDouble, kMpiInt), kMpiDoubleInt);
    EXPECT_EQ(pair(kMpiInt, kMpiInt), kMpi2int);
    EXPECT_EQ(pair(kMpiReal, kMpiReal), kMpi2real);
    EXPECT_EQ(pair(kMpiByte, kMpiInt), 0);
    EXPECT_EQ(pair(kMpiDouble, kMpiDouble), 0);
  });
}

TEST(Predefined, Names) {
  with_process([](Process& process) {
    std::string name;
    EXPECT_EQ(api::type_get_name(process, nullptr, &name), kSuccess);
    EXPECT_EQ(name, "MPI_DATATYPE_NULL");
    Datatype* type = named(process, kMpiDoubleInt).get();
    EXPECT_EQ(api::type_get_name(process, type, &name), kSuccess);
    EXPECT_EQ(name, "MPI_DOUBLE_INT");
    // Of two names for one type the one that the standard calls no synonym (MPI 5.0, 3.2.2).
    EXPECT_EQ(named(process, kMpiLongLong)->name, "MPI_LONG_LONG_INT");
    EXPECT_EQ(named(process, kMpiCFloatComplex)->name, "MPI_C_COMPLEX");
    EXPECT_EQ(api::type_set_name(process, type, std::string(300, 'x').c_str()), kSuccess);
    EXPECT_EQ(type->name, std::string(127, 'x'));
  });
}

}  // namespace
}  // namespace tasuki::test
