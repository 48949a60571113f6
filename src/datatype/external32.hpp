// external32 (MPI 14.5.2): the portable representation. Big-endian, IEEE, two's complement, of fixed sizes.
//
// The packed form of a datatype, native or external, is a stream of basic elements whose types its signature
// gives; so conversion needs no layout. Pure functions. For packing, and for files.
//
// Three kinds of elements may have no form on the other side: an MPI_LONG or MPI_UNSIGNED_LONG beyond the 4
// bytes that it has there, an MPI_WCHAR beyond 2 bytes, and, where long double is x87's, a finite binary128
// that rounds to more than long double holds. The first such element ends a conversion; callers make
// MPI_ERR_CONVERSION of it. What is merely less precise is converted. C's and C++'s bool are 0 or 1 on both
// sides, whatever nonzero byte was there; Fortran's logicals keep their bits.
#pragma once

#include <cstddef>
#include <string>

#include "base/types.hpp"
#include "datatype/predefined.hpp"

namespace tasuki {

/// Converts `count` elements of the basic type `info` (not a pair) between packed native form and external32.
/// Returns how many were converted: all, or those before the first that has no form on the other side.
Count to_external32(const BasicInfo& info, Count count, const std::byte* native, std::byte* external);
Count from_external32(const BasicInfo& info, Count count, const std::byte* external, std::byte* native);

/// For an error message: which native element has no external32 form, and what was expected.
std::string misfit_in_external32(const BasicInfo& info, const std::byte* native);
/// The other way round.
std::string misfit_of_external32(const BasicInfo& info);

}  // namespace tasuki
