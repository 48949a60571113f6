// The table of the predefined datatypes, and the objects made from it.
//
// external32 sizes are those of MPI 14.5.2: long has 4 bytes, long long 8, long double is a quad of 16,
// wchar_t has 2; a pair, of which the standard says nothing, has those of its members. Fortran types have the
// sizes of the usual compilers' default kinds (4 bytes; 8 for DOUBLE PRECISION).
#include "datatype/predefined.hpp"

#include <cstddef>
#include <iterator>
#include <type_traits>

#include "datatype/datatype.hpp"
#include "datatype/layout.hpp"
#include "datatype/signature.hpp"

namespace tasuki {
namespace {

using Group = ReductionGroup;

template <class T>
constexpr BasicInfo basic(std::uint16_t number, const char* name, Representation representation, Group group,
                          std::uint8_t external_size = sizeof(T)) {
  return {number, name, representation, group, false, sizeof(T), sizeof(T), alignof(T), external_size};
}

template <class Part>
constexpr BasicInfo complex(std::uint16_t number, const char* name,
                            std::uint8_t external_part = sizeof(Part)) {
  return {number,           name,          Representation::kComplex,
          Group::kComplex,  false,         2 * sizeof(Part),
          2 * sizeof(Part), alignof(Part), static_cast<std::uint8_t>(2 * external_part)};
}

template <class Value, class Index = int>
constexpr BasicInfo pair(std::uint16_t number, const char* name, std::uint16_t value, std::uint16_t index) {
  struct Both {
    Value value;
    Index index;
  };
  return {number,       name,          Representation::kPair,
          Group::kPair, false,         sizeof(Value) + sizeof(Index),
          sizeof(Both), alignof(Both), 0,
          value,        index,         offsetof(Both, index)};
}

/// Marks a bound of a struct, and holds no data.
constexpr BasicInfo marker(std::uint16_t number, const char* name) {
  return {number, name, Representation::kBytes, Group::kNone, false, 0, 0, 1, 0};
}

constexpr BasicInfo quad(BasicInfo info) {
  info.quad = true;
  return info;
}

using R = Representation;

constexpr BasicInfo kTable[] = {
    basic<Aint>(kMpiAint, "MPI_AINT", R::kSigned, Group::kMultiLanguage, 8),
    basic<Count>(kMpiCount, "MPI_COUNT", R::kSigned, Group::kMultiLanguage),
    basic<Offset>(kMpiOffset, "MPI_OFFSET", R::kSigned, Group::kMultiLanguage),
    basic<std::byte>(kMpiPacked, "MPI_PACKED", R::kBytes, Group::kNone),
    basic<std::byte>(kMpiByte, "MPI_BYTE", R::kBytes, Group::kByte),

    // For characters, says the standard (MPI 6.9.2), and not for reductions; programs reduce it all the same,
    // and other libraries take it as C's char.
    basic<char>(kMpiChar, "MPI_CHAR", std::is_signed_v<char> ? R::kSigned : R::kUnsigned, Group::kCInteger),
    basic<wchar_t>(kMpiWchar, "MPI_WCHAR", R::kWideChar, Group::kNone, 2),
    basic<signed char>(kMpiSignedChar, "MPI_SIGNED_CHAR", R::kSigned, Group::kCInteger),
    basic<unsigned char>(kMpiUnsignedChar, "MPI_UNSIGNED_CHAR", R::kUnsigned, Group::kCInteger),
    basic<short>(kMpiShort, "MPI_SHORT", R::kSigned, Group::kCInteger),
    basic<unsigned short>(kMpiUnsignedShort, "MPI_UNSIGNED_SHORT", R::kUnsigned, Group::kCInteger),
    basic<int>(kMpiInt, "MPI_INT", R::kSigned, Group::kCInteger),
    basic<unsigned>(kMpiUnsigned, "MPI_UNSIGNED", R::kUnsigned, Group::kCInteger),
    basic<long>(kMpiLong, "MPI_LONG", R::kSigned, Group::kCInteger, 4),
    basic<unsigned long>(kMpiUnsignedLong, "MPI_UNSIGNED_LONG", R::kUnsigned, Group::kCInteger, 4),
    basic<long long>(kMpiLongLongInt, "MPI_LONG_LONG_INT", R::kSigned, Group::kCInteger),
    basic<unsigned long long>(kMpiUnsignedLongLong, "MPI_UNSIGNED_LONG_LONG", R::kUnsigned, Group::kCInteger),
    basic<std::int8_t>(kMpiInt8T, "MPI_INT8_T", R::kSigned, Group::kCInteger),
    basic<std::int16_t>(kMpiInt16T, "MPI_INT16_T", R::kSigned, Group::kCInteger),
    basic<std::int32_t>(kMpiInt32T, "MPI_INT32_T", R::kSigned, Group::kCInteger),
    basic<std::int64_t>(kMpiInt64T, "MPI_INT64_T", R::kSigned, Group::kCInteger),
    basic<std::uint8_t>(kMpiUint8T, "MPI_UINT8_T", R::kUnsigned, Group::kCInteger),
    basic<std::uint16_t>(kMpiUint16T, "MPI_UINT16_T", R::kUnsigned, Group::kCInteger),
    basic<std::uint32_t>(kMpiUint32T, "MPI_UINT32_T", R::kUnsigned, Group::kCInteger),
    basic<std::uint64_t>(kMpiUint64T, "MPI_UINT64_T", R::kUnsigned, Group::kCInteger),

    basic<float>(kMpiFloat, "MPI_FLOAT", R::kFloating, Group::kFloating),
    basic<double>(kMpiDouble, "MPI_DOUBLE", R::kFloating, Group::kFloating),
    basic<long double>(kMpiLongDouble, "MPI_LONG_DOUBLE", R::kFloating, Group::kFloating, 16),
    basic<bool>(kMpiCBool, "MPI_C_BOOL", R::kLogical, Group::kLogical, 1),
    basic<bool>(kMpiCxxBool, "MPI_CXX_BOOL", R::kLogical, Group::kLogical, 1),
    complex<float>(kMpiCComplex, "MPI_C_COMPLEX"),
    complex<double>(kMpiCDoubleComplex, "MPI_C_DOUBLE_COMPLEX"),
    complex<long double>(kMpiCLongDoubleComplex, "MPI_C_LONG_DOUBLE_COMPLEX", 16),
    complex<float>(kMpiCxxFloatComplex, "MPI_CXX_FLOAT_COMPLEX"),
    complex<double>(kMpiCxxDoubleComplex, "MPI_CXX_DOUBLE_COMPLEX"),
    complex<long double>(kMpiCxxLongDoubleComplex, "MPI_CXX_LONG_DOUBLE_COMPLEX", 16),

    basic<char>(kMpiCharacter, "MPI_CHARACTER", R::kBytes, Group::kNone),
    basic<std::int32_t>(kMpiLogical, "MPI_LOGICAL", R::kLogical, Group::kLogical),
    basic<std::int32_t>(kMpiInteger, "MPI_INTEGER", R::kSigned, Group::kFortranInteger),
    basic<float>(kMpiReal, "MPI_REAL", R::kFloating, Group::kFloating),
    basic<double>(kMpiDoublePrecision, "MPI_DOUBLE_PRECISION", R::kFloating, Group::kFloating),
    complex<float>(kMpiComplex, "MPI_COMPLEX"),
    complex<double>(kMpiDoubleComplex, "MPI_DOUBLE_COMPLEX"),
    basic<std::int8_t>(kMpiLogical1, "MPI_LOGICAL1", R::kLogical, Group::kLogical),
    basic<std::int16_t>(kMpiLogical2, "MPI_LOGICAL2", R::kLogical, Group::kLogical),
    basic<std::int32_t>(kMpiLogical4, "MPI_LOGICAL4", R::kLogical, Group::kLogical),
    basic<std::int64_t>(kMpiLogical8, "MPI_LOGICAL8", R::kLogical, Group::kLogical),
    basic<Int128>(kMpiLogical16, "MPI_LOGICAL16", R::kLogical, Group::kLogical),
    basic<std::int8_t>(kMpiInteger1, "MPI_INTEGER1", R::kSigned, Group::kFortranInteger),
    basic<std::int16_t>(kMpiInteger2, "MPI_INTEGER2", R::kSigned, Group::kFortranInteger),
    basic<std::int32_t>(kMpiInteger4, "MPI_INTEGER4", R::kSigned, Group::kFortranInteger),
    basic<std::int64_t>(kMpiInteger8, "MPI_INTEGER8", R::kSigned, Group::kFortranInteger),
    basic<Int128>(kMpiInteger16, "MPI_INTEGER16", R::kSigned, Group::kFortranInteger),
    basic<Half>(kMpiReal2, "MPI_REAL2", R::kFloating, Group::kFloating),
    basic<Half>(kMpixCFloat16, "MPIX_C_FLOAT16", R::kFloating, Group::kFloating),
    basic<float>(kMpiReal4, "MPI_REAL4", R::kFloating, Group::kFloating),
    basic<double>(kMpiReal8, "MPI_REAL8", R::kFloating, Group::kFloating),
    quad(basic<Quad>(kMpiReal16, "MPI_REAL16", R::kFloating, Group::kFloating)),
    complex<Half>(kMpiComplex4, "MPI_COMPLEX4"),
    complex<float>(kMpiComplex8, "MPI_COMPLEX8"),
    complex<double>(kMpiComplex16, "MPI_COMPLEX16"),
    quad(complex<Quad>(kMpiComplex32, "MPI_COMPLEX32")),

    pair<float>(kMpiFloatInt, "MPI_FLOAT_INT", kMpiFloat, kMpiInt),
    pair<double>(kMpiDoubleInt, "MPI_DOUBLE_INT", kMpiDouble, kMpiInt),
    pair<long>(kMpiLongInt, "MPI_LONG_INT", kMpiLong, kMpiInt),
    pair<int>(kMpi2int, "MPI_2INT", kMpiInt, kMpiInt),
    pair<short>(kMpiShortInt, "MPI_SHORT_INT", kMpiShort, kMpiInt),
    pair<long double>(kMpiLongDoubleInt, "MPI_LONG_DOUBLE_INT", kMpiLongDouble, kMpiInt),
    pair<float, float>(kMpi2real, "MPI_2REAL", kMpiReal, kMpiReal),
    pair<double, double>(kMpi2doublePrecision, "MPI_2DOUBLE_PRECISION", kMpiDoublePrecision,
                         kMpiDoublePrecision),
    pair<std::int32_t, std::int32_t>(kMpi2integer, "MPI_2INTEGER", kMpiInteger, kMpiInteger),

    marker(kMpiLb, "MPI_LB"),
    marker(kMpiUb, "MPI_UB"),
};

struct IndexByNumber {
  std::uint8_t entry[kPredefinedCount] = {};  // index in kTable plus one, 0 for none
};

constexpr IndexByNumber index_table() {
  static_assert(std::size(kTable) < 255);
  IndexByNumber index;
  for (std::size_t i = 0; i < std::size(kTable); ++i) {
    index.entry[kTable[i].predefined] = static_cast<std::uint8_t>(i + 1);
  }
  return index;
}

constexpr IndexByNumber kIndex = index_table();

void describe_pair(const BasicInfo& info, Datatype* datatype) {
  const BasicInfo& value = *basic_info(info.value);
  const BasicInfo& index = *basic_info(info.index);
  LayoutBuilder layout;
  layout.add(0, 1, value.size, layout_run(0, value.size));
  layout.add(info.index_offset, 1, index.size, layout_run(0, index.size));
  datatype->layout = layout.finish();
  SignatureBuilder signature;
  signature.add(1, signature_basic(value));
  signature.add(1, signature_basic(index));
  datatype->signature = signature.finish();
  datatype->true_extent = info.index_offset + index.size;
}

Datatype* make_predefined(const BasicInfo& info) {
  auto* datatype = new Datatype;
  datatype->predefined = info.predefined;
  datatype->name = info.name;
  datatype->size = info.size;
  datatype->extent = info.extent;
  datatype->true_extent = info.extent;
  datatype->alignment = info.alignment;
  datatype->committed = true;
  if (info.representation == Representation::kPair) {
    describe_pair(info, datatype);
  } else if (info.size == 0) {
    datatype->layout = LayoutBuilder().finish();
    datatype->signature = SignatureBuilder().finish();
  } else {
    datatype->layout = layout_run(0, info.size);
    datatype->signature = signature_basic(info);
  }
  datatype->contiguous = info.size == info.extent;
  return datatype;
}

}  // namespace

const BasicInfo* basic_info(std::uint16_t predefined) {
  const std::uint8_t entry = predefined < kPredefinedCount ? kIndex.entry[predefined] : 0;
  return entry == 0 ? nullptr : &kTable[entry - 1];
}

const BasicInfo* basic_info(const Datatype& datatype) {
  switch (datatype.combiner) {
    case Combiner::kNamed:
      return basic_info(datatype.predefined);
    case Combiner::kF90Integer:
    case Combiner::kF90Real:
    case Combiner::kF90Complex:
      return basic_info(datatype.signature->basic);
    default:
      return nullptr;
  }
}

void make_predefined_datatypes(std::array<Object*, kPredefinedCount>& objects) {
  for (const BasicInfo& info : kTable) objects[info.predefined] = make_predefined(info);
}

}  // namespace tasuki
