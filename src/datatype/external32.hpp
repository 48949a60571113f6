// external32 (MPI 14.5.2): the portable representation. Big-endian, IEEE, two's complement, of fixed sizes.
//
// The packed form of a datatype, native or external, is a stream of basic elements whose types its signature
// gives; so conversion needs no layout. Pure functions. For packing, and for files.
#pragma once

#include <cstddef>

#include "base/types.hpp"
#include "datatype/predefined.hpp"

namespace tasuki {

/// Converts `count` elements of the basic type `info` (not a pair) between packed native form and external32.
void to_external32(const BasicInfo& info, Count count, const std::byte* native, std::byte* external);
void from_external32(const BasicInfo& info, Count count, const std::byte* external, std::byte* native);

}  // namespace tasuki
