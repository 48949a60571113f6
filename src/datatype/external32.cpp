// external32: byte order, and the two types whose sizes or formats differ from the machine's.
#include "datatype/external32.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cstring>

namespace tasuki {
namespace {

static_assert(std::endian::native == std::endian::little || std::endian::native == std::endian::big);
static_assert(sizeof(long) == 8 && sizeof(Aint) == 8, "external32's MPI_LONG and MPI_AINT have 8 bytes");
static_assert(LDBL_MANT_DIG == 64 || LDBL_MANT_DIG == 113, "long double: x87 extended or IEEE quad");
static_assert(kHasQuad);

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

/// Converts number by number: From and To are native types, one side is then swapped.
template <class From, class To, class Convert>
void convert_out(Count count, const std::byte* native, std::byte* external, Convert convert) {
  for (Count i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, native + i * Count{sizeof(From)}, sizeof value);
    const To converted = convert(value);
    std::byte bytes[sizeof(To)];
    std::memcpy(bytes, &converted, sizeof converted);
    copy_big_endian(1, sizeof(To), bytes, external + i * Count{sizeof(To)});
  }
}

template <class From, class To, class Convert>
void convert_in(Count count, const std::byte* external, std::byte* native, Convert convert) {
  for (Count i = 0; i < count; ++i) {
    std::byte bytes[sizeof(From)];
    copy_big_endian(1, sizeof(From), external + i * Count{sizeof(From)}, bytes);
    From value;
    std::memcpy(&value, bytes, sizeof value);
    const To converted = convert(value);
    std::memset(native + i * Count{sizeof(To)}, 0, sizeof converted);  // x87: six bytes of padding
    std::memcpy(native + i * Count{sizeof(To)}, &converted,
                LDBL_MANT_DIG == 64 && sizeof(To) == 16 ? 10 : sizeof(To));
  }
}

/// A character outside the basic plane has no 2-byte form: it becomes U+FFFD, the replacement character.
std::uint16_t narrowed(wchar_t character) {
  const auto code = static_cast<std::uint32_t>(character);
  return code <= 0xffff ? static_cast<std::uint16_t>(code) : std::uint16_t{0xfffd};
}

bool is_extended(const BasicInfo& info) {
  const bool floating =
      info.representation == Representation::kFloating || info.representation == Representation::kComplex;
  return floating && LDBL_MANT_DIG == 64 && !info.quad && info.alignment == alignof(long double);
}

/// Numbers per element, each converted by itself.
Count parts(const BasicInfo& info) {
  return info.representation == Representation::kComplex ? 2 : 1;
}

}  // namespace

void to_external32(const BasicInfo& info, Count count, const std::byte* native, std::byte* external) {
  const Count numbers = count * parts(info);
  if (info.representation == Representation::kWideChar) {
    convert_out<wchar_t, std::uint16_t>(numbers, native, external, narrowed);
  } else if (is_extended(info)) {
    convert_out<long double, Quad>(numbers, native, external,
                                   [](long double x) { return static_cast<Quad>(x); });
  } else {
    copy_big_endian(numbers, static_cast<std::size_t>(info.size / parts(info)), native, external);
  }
}

void from_external32(const BasicInfo& info, Count count, const std::byte* external, std::byte* native) {
  const Count numbers = count * parts(info);
  if (info.representation == Representation::kWideChar) {
    convert_in<std::uint16_t, wchar_t>(numbers, external, native,
                                       [](std::uint16_t code) { return static_cast<wchar_t>(code); });
  } else if (is_extended(info)) {
    convert_in<Quad, long double>(numbers, external, native,
                                  [](Quad x) { return static_cast<long double>(x); });
  } else {
    copy_big_endian(numbers, static_cast<std::size_t>(info.size / parts(info)), external, native);
  }
}

}  // namespace tasuki
