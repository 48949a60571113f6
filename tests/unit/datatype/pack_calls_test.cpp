// Shows MPI_Pack and its relatives: positions, sizes, errors, and the bytes of external32 (MPI 14.5.2).
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <map>

#include "datatype/support.hpp"

namespace tasuki::test {
namespace {

using Bytes = std::vector<unsigned char>;

template <class T>
Bytes external(Process& process, std::uint16_t number, const T& value, Count count = 1) {
  Datatype* type = named(process, number).get();
  Count size = 0;
  EXPECT_EQ(api::pack_external_size(process, "external32", count, type, &size), kSuccess);
  Bytes out(static_cast<std::size_t>(size));
  Count position = 0;
  EXPECT_EQ(api::pack_external(process, "external32", &value, count, type, out.data(), size, &position),
            kSuccess);
  EXPECT_EQ(position, size);
  T back;
  std::memset(static_cast<void*>(&back), 0x77, sizeof back);
  position = 0;
  EXPECT_EQ(api::unpack_external(process, "external32", out.data(), size, &position, &back, count, type),
            kSuccess);
  EXPECT_EQ(position, size);
  EXPECT_TRUE(back == value);
  return out;
}

TEST(External32, IsBigEndianWithItsOwnSizes) {
  with_process([](Process& p) {
    EXPECT_EQ(external(p, kMpiShort, short{-2}), (Bytes{0xff, 0xfe}));
    EXPECT_EQ(external(p, kMpiInt, 0x01020304), (Bytes{1, 2, 3, 4}));
    EXPECT_EQ(external(p, kMpiLong, 0x01020304L), (Bytes{1, 2, 3, 4}));
    EXPECT_EQ(external(p, kMpiLong, -2L), (Bytes{0xff, 0xff, 0xff, 0xfe}));
    EXPECT_EQ(external(p, kMpiLong, long{INT32_MIN}), (Bytes{0x80, 0, 0, 0}));
    EXPECT_EQ(external(p, kMpiUnsignedLong, 0xfffffffeUL), (Bytes{0xff, 0xff, 0xff, 0xfe}));
    EXPECT_EQ(external(p, kMpiLongLong, 0x0102030405060708LL), (Bytes{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(external(p, kMpiAint, Aint{-1}), Bytes(8, 0xff));
    EXPECT_EQ(external(p, kMpiChar, 'a'), (Bytes{'a'}));
    EXPECT_EQ(external(p, kMpiCBool, true), (Bytes{1}));
    EXPECT_EQ(external(p, kMpiFloat, 1.0f), (Bytes{0x3f, 0x80, 0, 0}));
    EXPECT_EQ(external(p, kMpiDouble, -2.0), (Bytes{0xc0, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(external(p, kMpiWchar, wchar_t{0x263a}), (Bytes{0x26, 0x3a}));
    struct Complex {
      float re, im;
      bool operator==(const Complex&) const = default;
    };
    EXPECT_EQ(external(p, kMpiCComplex, Complex{1, -1}), (Bytes{0x3f, 0x80, 0, 0, 0xbf, 0x80, 0, 0}));
  });
}

TEST(External32, LongDoubleIsAQuad) {
  with_process([](Process& p) {
    Bytes one(16, 0);
    one[0] = 0x3f;
    one[1] = 0xff;
    EXPECT_EQ(external(p, kMpiLongDouble, 1.0L), one);
    one[2] = 0x80;  // 1.5: the first bit after the point
    EXPECT_EQ(external(p, kMpiLongDouble, 1.5L), one);
    external(p, kMpiLongDouble, 3.14159265358979323846264338327950288L);
    external(p, kMpiLongDouble, std::numeric_limits<long double>::max());
    external(p, kMpiLongDouble, std::numeric_limits<long double>::denorm_min());
    external(p, kMpiLongDouble, -std::numeric_limits<long double>::infinity());
    EXPECT_EQ(external(p, kMpiReal16, static_cast<Quad>(1.5)), one);
  });
}

/// The table of MPI 14.5.2, and of pairs, which it leaves out, the sum of their members.
TEST(External32, SizesAreTheStandards) {
  const std::map<int, std::vector<std::uint16_t>> numbers = {
      {1,
       {kMpiPacked, kMpiByte, kMpiChar, kMpiUnsignedChar, kMpiSignedChar, kMpiCBool, kMpiInt8T, kMpiUint8T,
        kMpiCharacter, kMpiCxxBool, kMpiInteger1, kMpiLogical1}},
      {2,
       {kMpiWchar, kMpiShort, kMpiUnsignedShort, kMpiInt16T, kMpiUint16T, kMpiInteger2, kMpiReal2,
        kMpiLogical2}},
      {4,
       {kMpiInt, kMpiLong, kMpiUnsigned, kMpiUnsignedLong, kMpiFloat, kMpiInt32T, kMpiUint32T, kMpiLogical,
        kMpiInteger, kMpiReal, kMpiInteger4, kMpiReal4, kMpiComplex4, kMpiLogical4}},
      {6, {kMpiShortInt}},
      {8, {kMpiLongLong,      kMpiUnsignedLongLong,
           kMpiDouble,        kMpiInt64T,
           kMpiUint64T,       kMpiAint,
           kMpiCount,         kMpiOffset,
           kMpiCFloatComplex, kMpiDoublePrecision,
           kMpiComplex,       kMpiCxxFloatComplex,
           kMpiInteger8,      kMpiReal8,
           kMpiComplex8,      kMpiLogical8,
           kMpiFloatInt,      kMpiLongInt,
           kMpi2int,          kMpi2real,
           kMpi2integer}},
      {12, {kMpiDoubleInt}},
      {16,
       {kMpiLongDouble, kMpiCDoubleComplex, kMpiDoubleComplex, kMpiCxxDoubleComplex, kMpiInteger16,
        kMpiReal16, kMpiComplex16, kMpiLogical16, kMpi2doublePrecision}},
      {20, {kMpiLongDoubleInt}},
      {32, {kMpiCLongDoubleComplex, kMpiCxxLongDoubleComplex, kMpiComplex32}}};
  with_process([&](Process& p) {
    for (const auto& [bytes, types] : numbers) {
      for (const std::uint16_t number : types) {
        Count size = 0;
        EXPECT_EQ(api::pack_external_size(p, "external32", 1, named(p, number).get(), &size), kSuccess);
        EXPECT_EQ(size, bytes) << basic_info(number)->name;
      }
    }
  });
}

/// Packs {good, wrong}: an error that names the value, the position as it was, and the first one packed.
template <class T>
void expect_misfit(Process& p, std::uint16_t number, T good, T wrong, const char* text) {
  Datatype* type = named(p, number).get();
  const T in[2] = {good, wrong};
  Bytes out(64, 0xee);
  Count position = 3;
  const Code code = api::pack_external(p, "external32", in, 2, type, out.data(), 64, &position);
  EXPECT_EQ(failure(p, code), kErrConversion) << text;
  EXPECT_NE(p.errors.text(code).find(text), std::string::npos) << p.errors.text(code);
  EXPECT_EQ(position, 3);
  const Bytes packed = external(p, number, good);
  EXPECT_TRUE(std::equal(packed.begin(), packed.end(), out.begin() + 3)) << text;
}

TEST(External32, WhatHasNoFormIsAConversionError) {
  with_process([](Process& p) {
    expect_misfit(p, kMpiLong, 7L, 1L << 40, "element 1 of inbuf is MPI_LONG = 1099511627776, expected");
    expect_misfit(p, kMpiLong, -1L, -2147483649L, "MPI_LONG = -2147483649");
    expect_misfit(p, kMpiLong, 1L, 1L << 31, "the 4 bytes that it has in external32");
    expect_misfit(p, kMpiUnsignedLong, 0xffffffffUL, 1UL << 32, "MPI_UNSIGNED_LONG = 4294967296");
    expect_misfit(p, kMpiUnsignedLong, 1UL, ~0UL, "MPI_UNSIGNED_LONG = 18446744073709551615");
    expect_misfit(p, kMpiWchar, wchar_t{0xfffd}, static_cast<wchar_t>(0x1f600), "MPI_WCHAR = 128512");
    expect_misfit(p, kMpiWchar, L'A', static_cast<wchar_t>(-1), "the 2 bytes");
  });
}

TEST(External32, AMisfitIsFoundBehindManyAndInDerivedTypes) {
  with_process([](Process& p) {
    const TypeRef every_other = made(
        p, [&](Datatype** t) { return api::type_vector(p, 2000, 1, 2, named(p, kMpiLong).get(), t, false); });
    std::vector<long> in(4000, 1L << 40), back(4000);  // between the elements anything may lie
    for (std::size_t i = 0; i < 4000; i += 2) in[i] = -static_cast<long>(i);
    Bytes out(8000);
    Count position = 0;
    ASSERT_EQ(
        api::pack_external(p, "external32", in.data(), 1, every_other.get(), out.data(), 8000, &position),
        kSuccess);
    EXPECT_EQ(position, 8000);
    position = 0;
    ASSERT_EQ(
        api::unpack_external(p, "external32", out.data(), 8000, &position, back.data(), 1, every_other.get()),
        kSuccess);
    for (std::size_t i = 0; i < 4000; i += 2) ASSERT_EQ(back[i], in[i]);
    in[3000] = 1L << 40;
    position = 0;
    const Code code =
        api::pack_external(p, "external32", in.data(), 1, every_other.get(), out.data(), 8000, &position);
    EXPECT_EQ(failure(p, code), kErrConversion);
    EXPECT_NE(p.errors.text(code).find("element 1500 of"), std::string::npos) << p.errors.text(code);
    EXPECT_EQ(position, 0);
  });
}

TEST(External32, BooleansAreTrueOrFalseWhateverByteCame) {
  with_process([](Process& p) {
    const unsigned char in[3] = {0, 1, 0x80};
    for (const std::uint16_t number : {kMpiCBool, kMpiCxxBool}) {
      unsigned char out[3] = {9, 9, 9};
      Count position = 0;
      ASSERT_EQ(api::unpack_external(p, "external32", in, 3, &position, out, 3, named(p, number).get()),
                kSuccess);
      EXPECT_EQ(std::memcmp(out, "\0\1\1", 3), 0);
      position = 0;
      ASSERT_EQ(api::pack_external(p, "external32", in, 3, named(p, number).get(), out, 3, &position),
                kSuccess);
      EXPECT_EQ(std::memcmp(out, "\0\1\1", 3), 0);
    }
    const unsigned char logical[4] = {0xff, 0xff, 0xff, 0xff};  // a compiler's .TRUE.
    int value = 0;
    Count position = 0;
    ASSERT_EQ(
        api::unpack_external(p, "external32", logical, 4, &position, &value, 1, named(p, kMpiLogical).get()),
        kSuccess);
    EXPECT_EQ(value, -1);
  });
}

#if LDBL_MANT_DIG == 64
TEST(External32, AQuadBeyondLongDoubleIsAConversionError) {
  with_process([](Process& p) {
    Datatype* type = named(p, kMpiLongDouble).get();
    Bytes in(32, 0xff);  // 1, and then the largest binary128, which rounds up to infinity
    std::fill(in.begin(), in.begin() + 16, 0);
    in[0] = 0x3f;
    in[1] = 0xff;
    in[16] = 0x7f;
    in[17] = 0xfe;
    long double out[2] = {5, 6};
    Count position = 0;
    const Code code = api::unpack_external(p, "external32", in.data(), 32, &position, out, 2, type);
    EXPECT_EQ(failure(p, code), kErrConversion);
    EXPECT_EQ(position, 0);
    EXPECT_TRUE(out[0] == 1 && out[1] == 6);
  });
}
#endif

/// A derived type with holes, of several basic types, longer than the conversion's chunk.
TEST(External32, DerivedTypesGoAlongTheirSignature) {
  with_process([](Process& p) {
    struct Item {
      short s;
      double d[3];
      long double x;
    };
    Datatype* types[] = {named(p, kMpiShort).get(), named(p, kMpiDouble).get(),
                         named(p, kMpiLongDouble).get()};
    const TypeRef item = made(p, [&](Datatype** t) {
      return api::type_create_struct(p, 3, ints({1, 3, 1}), counts({0, offsetof(Item, d), offsetof(Item, x)}),
                                     types, t, false);
    });
    ASSERT_EQ(item->extent, static_cast<Count>(sizeof(Item)));
    constexpr Count kItems = 1000;
    std::vector<Item> in(kItems), back(kItems);
    for (Count i = 0; i < kItems; ++i) {
      const double x = static_cast<double>(i) + 0.25;
      in[static_cast<std::size_t>(i)] = {
          static_cast<short>(i), {x, -x, x * x}, std::sqrt(static_cast<long double>(i))};
    }
    Count size = 0;
    ASSERT_EQ(api::pack_external_size(p, "external32", kItems, item.get(), &size), kSuccess);
    EXPECT_EQ(size, kItems * (2 + 24 + 16));
    std::vector<unsigned char> out(static_cast<std::size_t>(size) + 5);
    Count position = 5;
    ASSERT_EQ(
        api::pack_external(p, "external32", in.data(), kItems, item.get(), out.data(), size + 5, &position),
        kSuccess);
    EXPECT_EQ(out[5 + 42], 0);
    EXPECT_EQ(out[5 + 43], 1);  // the second item's short
    position = 5;
    ASSERT_EQ(api::unpack_external(p, "external32", out.data(), size + 5, &position, back.data(), kItems,
                                   item.get()),
              kSuccess);
    for (std::size_t i = 0; i < kItems; ++i) {
      ASSERT_TRUE(back[i].s == in[i].s && back[i].d[2] == in[i].d[2] && back[i].x == in[i].x) << i;
    }
    const TypeRef columns =
        made(p, [&](Datatype** t) { return api::type_vector(p, 3000, 1, 2, types[1], t, false); });
    std::vector<double> matrix(6000), same(6000, -1);
    for (std::size_t i = 0; i < 6000; ++i) matrix[i] = static_cast<double>(i);
    out.assign(24000, 0);
    position = 0;
    ASSERT_EQ(
        api::pack_external(p, "external32", matrix.data(), 1, columns.get(), out.data(), 24000, &position),
        kSuccess);
    position = 0;
    ASSERT_EQ(
        api::unpack_external(p, "external32", out.data(), 24000, &position, same.data(), 1, columns.get()),
        kSuccess);
    for (std::size_t i = 0; i < 6000; ++i) ASSERT_EQ(same[i], i % 2 == 0 ? matrix[i] : -1);
  });
}

TEST(Pack, AppendsAtPosition) {
  with_process([](Process& p) {
    Datatype* integer = named(p, kMpiInt).get();
    Datatype* byte = named(p, kMpiByte).get();
    const TypeRef every_other =
        made(p, [&](Datatype** t) { return api::type_vector(p, 3, 1, 2, integer, t, false); });
    const int in[5] = {1, 2, 3, 4, 5};
    unsigned char out[13];
    Count position = 0, size = 0;
    ASSERT_EQ(api::pack_size(p, 1, every_other.get(), nullptr, &size), kSuccess);
    EXPECT_EQ(size, 12);
    ASSERT_EQ(api::pack(p, "x", 1, byte, out, 13, &position, nullptr), kSuccess);
    ASSERT_EQ(api::pack(p, in, 1, every_other.get(), out, 13, &position, nullptr), kSuccess);
    EXPECT_EQ(position, 13);
    EXPECT_EQ(failure(p, api::pack(p, in, 1, byte, out, 13, &position, nullptr)), kErrArg);
    EXPECT_EQ(position, 13);
    int back[5] = {};
    position = 1;
    ASSERT_EQ(api::unpack(p, out, 13, &position, back, 1, every_other.get(), nullptr), kSuccess);
    EXPECT_EQ(position, 13);
    EXPECT_TRUE(back[0] == 1 && back[1] == 0 && back[2] == 3 && back[3] == 0 && back[4] == 5);
  });
}

TEST(Pack, RefusesBadArguments) {
  with_process([](Process& p) {
    Datatype* integer = named(p, kMpiInt).get();
    int in[2] = {1, 2};
    unsigned char out[8] = {};
    Count position = 0, size = 0;
    EXPECT_EQ(failure(p, api::pack(p, in, 3, integer, out, 8, &position, nullptr)), kErrArg);
    EXPECT_EQ(failure(p, api::unpack(p, out, 7, &position, in, 2, integer, nullptr)), kErrArg);
    position = -1;
    EXPECT_EQ(failure(p, api::pack(p, in, 1, integer, out, 8, &position, nullptr)), kErrArg);
    position = 9;
    EXPECT_EQ(failure(p, api::unpack(p, out, 8, &position, in, 0, integer, nullptr)), kErrArg);
    EXPECT_EQ(failure(p, api::pack_size(p, INT64_MAX, integer, nullptr, &size)), kErrCount);
    position = 0;
    EXPECT_EQ(failure(p, api::pack_external(p, "internal", in, 1, integer, out, 8, &position)),
              kErrUnsupportedDatarep);
    EXPECT_EQ(failure(p, api::unpack_external(p, "external32", out, 7, &position, in, 2, integer)), kErrArg);
    EXPECT_EQ(position, 0);
  });
}

}  // namespace
}  // namespace tasuki::test
