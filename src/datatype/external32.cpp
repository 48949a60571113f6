// external32: byte order, and the types whose sizes or formats differ from the machine's.
#include "datatype/external32.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

namespace tasuki {
namespace {

static_assert(std::endian::native == std::endian::little || std::endian::native == std::endian::big);
static_assert(sizeof(Aint) == 8, "external32's MPI_AINT has 8 bytes");
static_assert(LDBL_MANT_DIG == 64 || LDBL_MANT_DIG == 113, "long double: x87 extended or IEEE quad");

std::uint16_t swapped(std::uint16_t value) {
  return __builtin_bswap16(value);
}
std::uint32_t swapped(std::uint32_t value) {
  return __builtin_bswap32(value);
}
std::uint64_t swapped(std::uint64_t value) {
  return __builtin_bswap64(value);
}

template <class Word>
void copy_swapped(Count count, const std::byte* from, std::byte* to) {
  for (Count i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * Count{sizeof word}, sizeof word);
    word = swapped(word);
    std::memcpy(to + i * Count{sizeof word}, &word, sizeof word);
  }
}

/// `count` numbers of `bytes` each between native and big-endian order.
void copy_big_endian(Count count, std::size_t bytes, const std::byte* from, std::byte* to) {
  if (bytes == 1 || std::endian::native == std::endian::big) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * bytes);
    return;
  }
  switch (bytes) {
    case 2:
      return copy_swapped<std::uint16_t>(count, from, to);
    case 4:
      return copy_swapped<std::uint32_t>(count, from, to);
    case 8:
      return copy_swapped<std::uint64_t>(count, from, to);
    default:
      for (Count i = 0; i < count; ++i, from += bytes, to += bytes) std::reverse_copy(from, from + bytes, to);
  }
}

/// Converts number by number, until one has no form: From and To are native types, one side is then swapped.
template <class From, class To, class Convert>
Count convert_out(Count count, const std::byte* native, std::byte* external, Convert convert) {
  for (Count i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, native + i * Count{sizeof(From)}, sizeof value);
    To converted;
    if (!convert(value, &converted)) return i;
    std::byte bytes[sizeof(To)];
    std::memcpy(bytes, &converted, sizeof converted);
    copy_big_endian(1, sizeof(To), bytes, external + i * Count{sizeof(To)});
  }
  return count;
}

template <class From, class To, class Convert>
Count convert_in(Count count, const std::byte* external, std::byte* native, Convert convert) {
  for (Count i = 0; i < count; ++i) {
    std::byte bytes[sizeof(From)];
    copy_big_endian(1, sizeof(From), external + i * Count{sizeof(From)}, bytes);
    From value;
    std::memcpy(&value, bytes, sizeof value);
    To converted;
    if (!convert(value, &converted)) return i;
    std::memset(native + i * Count{sizeof(To)}, 0, sizeof converted);  // x87: six bytes of padding
    std::memcpy(native + i * Count{sizeof(To)}, &converted,
                std::is_same_v<To, long double> && LDBL_MANT_DIG == 64 ? 10 : sizeof(To));
  }
  return count;
}

/// Integers of one signedness: the number stays what it is.
template <class To, class From>
bool convert_integer(From value, To* converted) {
  *converted = static_cast<To>(value);
  return std::in_range<To>(value);
}

bool convert_bool(std::uint8_t value, std::uint8_t* converted) {
  *converted = value != 0 ? 1 : 0;
  return true;
}

using WideUnit = std::make_unsigned_t<std::conditional_t<sizeof(wchar_t) == 4, std::int32_t, std::int16_t>>;

/// How an element is converted that is not merely turned around.
enum class Special : std::uint8_t { kNone, kSigned, kUnsigned, kWide, kExtended, kBool };

Special special_of(const BasicInfo& info) {
  const bool floating =
      info.representation == Representation::kFloating || info.representation == Representation::kComplex;
  if (floating && LDBL_MANT_DIG == 64 && !info.quad && info.alignment == alignof(long double))
    return Special::kExtended;
  if (info.representation == Representation::kWideChar) return Special::kWide;
  if (info.representation == Representation::kLogical && info.external_size == 1 &&
      info.group == ReductionGroup::kLogical && info.predefined != kMpiLogical1)
    return Special::kBool;
  if (info.size == info.external_size) return Special::kNone;
  return info.representation == Representation::kSigned ? Special::kSigned : Special::kUnsigned;
}

/// Numbers per element, each converted by itself.
Count parts(const BasicInfo& info) {
  return info.representation == Representation::kComplex ? 2 : 1;
}

}  // namespace

Count to_external32(const BasicInfo& info, Count count, const std::byte* native, std::byte* external) {
  const Count numbers = count * parts(info);
  switch (special_of(info)) {
    case Special::kSigned:
      return convert_out<long, std::int32_t>(numbers, native, external, convert_integer<std::int32_t, long>);
    case Special::kUnsigned:
      return convert_out<unsigned long, std::uint32_t>(numbers, native, external,
                                                       convert_integer<std::uint32_t, unsigned long>);
    case Special::kWide:
      return convert_out<WideUnit, std::uint16_t>(numbers, native, external,
                                                  convert_integer<std::uint16_t, WideUnit>);
    case Special::kExtended:
      convert_out<long double, Quad>(numbers, native, external, [](long double value, Quad* converted) {
        *converted = static_cast<Quad>(value);
        return true;
      });
      return count;
    case Special::kBool:
      return convert_out<std::uint8_t, std::uint8_t>(numbers, native, external, convert_bool);
    case Special::kNone:
      copy_big_endian(numbers, static_cast<std::size_t>(info.size / parts(info)), native, external);
  }
  return count;
}

Count from_external32(const BasicInfo& info, Count count, const std::byte* external, std::byte* native) {
  const Count numbers = count * parts(info);
  switch (special_of(info)) {
    case Special::kSigned:
      return convert_in<std::int32_t, long>(numbers, external, native, convert_integer<long, std::int32_t>);
    case Special::kUnsigned:
      return convert_in<std::uint32_t, unsigned long>(numbers, external, native,
                                                      convert_integer<unsigned long, std::uint32_t>);
    case Special::kWide:
      return convert_in<std::uint16_t, WideUnit>(numbers, external, native,
                                                 convert_integer<WideUnit, std::uint16_t>);
    case Special::kExtended: {
      const auto convert = [](Quad value, long double* converted) {
        *converted = static_cast<long double>(value);
        return !std::isinf(*converted) || value - value != 0;  // infinity less itself is NaN
      };
      return convert_in<Quad, long double>(numbers, external, native, convert) / parts(info);
    }
    case Special::kBool:
      return convert_in<std::uint8_t, std::uint8_t>(numbers, external, native, convert_bool);
    case Special::kNone:
      copy_big_endian(numbers, static_cast<std::size_t>(info.size / parts(info)), external, native);
  }
  return count;
}

std::string misfit_in_external32(const BasicInfo& info, const std::byte* native) {
  std::string value;
  if (special_of(info) == Special::kWide) {
    WideUnit unit;
    std::memcpy(&unit, native, sizeof unit);
    value = std::to_string(unit);
  } else if (info.representation == Representation::kSigned) {
    long number;
    std::memcpy(&number, native, sizeof number);
    value = std::to_string(number);
  } else {
    unsigned long number;
    std::memcpy(&number, native, sizeof number);
    value = std::to_string(number);
  }
  return std::string(info.name) + " = " + value + ", expected what fits the " +
         std::to_string(int{info.external_size}) + " bytes that it has in external32";
}

std::string misfit_of_external32(const BasicInfo& info) {
  return std::string(info.name) + " beyond the range of long double, expected what this machine's holds";
}

}  // namespace tasuki
