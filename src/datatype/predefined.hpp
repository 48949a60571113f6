// The table of MPI's predefined datatypes (MPI 3.2.2, 5.1.2, 6.9.2, 6.9.4, 14.5.2 and 19.3): for each one its
// name, size and alignment on this machine, how its bits are to be read, in which of the standard's groups of
// reduction operands it is, and its external32 size.
//
// Immutable data; any thread may read it.
#pragma once

#include <array>
#include <cfloat>
#include <cstdint>

#include "base/predefined.hpp"
#include "datatype/half.hpp"

namespace tasuki {

struct Object;
struct Datatype;

/// MPI_LB and MPI_UB, which MPI 3.0 removed: of the MPICH ABI only, with numbers of the core's own.
inline constexpr std::uint16_t kMpiLb = 587;
inline constexpr std::uint16_t kMpiUb = 588;

// The types of INTEGER16 and of REAL16, IEEE's binary128: gcc and clang have them on every processor of 64
// bits.
__extension__ typedef __int128 Int128;
#if LDBL_MANT_DIG == 113
using Quad = long double;
#else
using Quad = __float128;
#endif

/// How the bits of one element are read. With `size` (of both parts together, for a complex one) this names
/// the machine's type. A floating type of 16 bytes is `long double` for the C types and Quad for REAL16 and
/// COMPLEX32: `quad` tells.
enum class Representation : std::uint8_t {
  kBytes,     // BYTE, PACKED, and characters: opaque
  kSigned,    // two's complement
  kUnsigned,  //
  kFloating,  // IEEE, or x87 extended for long double on x86-64
  kComplex,   // two floating ones, real part first
  kLogical,   // C and C++ bool, Fortran logicals: an integer of `size` bytes, false is 0 and true is 1
  kWideChar,  // wchar_t
  kPair,      // a value and an index, for MINLOC and MAXLOC: members `value` and `index`
};

/// The groups of MPI 6.9.2 (which operation takes which type); kPair is that of MPI 6.9.4.
enum class ReductionGroup : std::uint8_t {
  kNone,  // wide and Fortran characters, PACKED: no predefined operation takes them
  kCInteger,
  kFortranInteger,
  kFloating,
  kLogical,
  kComplex,
  kByte,
  kMultiLanguage,
  kPair,
};

struct BasicInfo {
  std::uint16_t predefined;  // base/predefined.hpp
  const char* name;          // "MPI_INT"
  Representation representation;
  ReductionGroup group;
  bool quad;                      // the floating parts are Quad
  std::uint8_t size;              // bytes of data; of a pair: both members without padding
  std::uint8_t extent;            // bytes; sizeof
  std::uint8_t alignment;         // bytes; alignof
  std::uint8_t external_size;     // bytes in external32
  std::uint16_t value = 0;        // of a pair: the types of its members
  std::uint16_t index = 0;        //
  std::uint8_t index_offset = 0;  // of a pair: bytes
};

/// The entry of a predefined datatype, or nullptr when `predefined` is the number of something else.
const BasicInfo* basic_info(std::uint16_t predefined);

/// The entry of the predefined type that `datatype` is, named or unnamed (MPI_Type_create_f90_*), or nullptr
/// for a derived one.
const BasicInfo* basic_info(const Datatype& datatype);

/// Makes the Datatype of every entry, committed and named, at its number in `objects`.
void make_predefined_datatypes(std::array<Object*, kPredefinedCount>& objects);

}  // namespace tasuki
