// The loops of the predefined reduction operations, one per pair of operation and machine type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/predefined.hpp"

namespace tasuki {

/// result[i] = left[i] op right[i] for `count` elements, aligned as their type demands. The result is one of
/// the operands, or overlaps neither.
using ReductionKernel = void (*)(const void* left, const void* right, void* result, std::size_t count);

/// The loop for the predefined operation `op` on elements of `type`, or null when MPI 6.9.2 and 6.9.4 do not
/// define the one for the other (or the compiler lacks the type). MPI_REPLACE and MPI_NO_OP, which only
/// one-sided calls take, have none.
ReductionKernel find_reduction_kernel(std::uint16_t op, const BasicInfo& type);

struct Op;
struct Datatype;

/// The same for two objects; null also for a user's operation, and for a derived datatype.
ReductionKernel find_reduction_kernel(const Op& op, const Datatype& datatype);

}  // namespace tasuki
