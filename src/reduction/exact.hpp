// Reductions whose result does not depend on the order of the operands, nor on how many there are besides
// zeros: of floating-point numbers the sum, which is the exact one rounded once, the minimum and the maximum.
//
//  - A sum is rounded to nearest, of two to the even one. What overflows on the way and comes back counts as
//    it is. A sum that is zero is +0, also that of -0 alone.
//  - The minimum and the maximum take -0 as less than +0.
//  - Where an operand is not a number, or infinities of both signs are added, the result is the quiet NaN
//  with
//    sign 0 and payload 0.
//
// Pure. The processor must be in IEEE's default mode: rounding to nearest, no flushing of subnormals.
#pragma once

#include <cstddef>

#include "base/types.hpp"
#include "reduction/op.hpp"

namespace tasuki {

/// result[i] = vectors[0][i] op vectors[1][i] op ... for `count` elements, aligned as their type demands.
/// The result is one of the vectors, or overlaps none.
using ExactKernel = void (*)(const void* const* vectors, std::size_t number, void* result, std::size_t count);

/// The loop for MPI_SUM, MPI_MIN or MPI_MAX of floating-point numbers, real or complex; null for others.
ExactKernel find_exact_kernel(const Op& op, const Datatype& datatype);

/// What is done where a user asks for `wanted`. kExact becomes kNo where all orders have the same result
/// (predefined operations on integers, logicals and bytes), and kOrder where none is exact (products, pairs
/// of value and index, users' operations).
Repeatable repeatable_for(Repeatable wanted, const Op& op, const Datatype& datatype);

}  // namespace tasuki
