// Combination: what an accumulate does to each element: the one basic type that the elements have, and the
// operation with its kernel (MPI 12.3.4, 12.7.1).
//
// Immutable data; any thread may make one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "datatype/predefined.hpp"
#include "reduction/op.hpp"
#include "reduction/op_kernels.hpp"

namespace tasuki::rma {

inline constexpr std::size_t kElementBytesMax = 32;

/// What is done to each element.
struct Combination {
  const BasicInfo* type = nullptr;
  std::uint16_t op = UINT16_MAX;     // kMpiReplace, kMpiNoOp, or one with a kernel
  ReductionKernel kernel = nullptr;  // null for these two
  bool is_fetch = false;  // of integers that the processor can add to, exchange or read: 4, 8 bytes

  Count element_bytes() const { return type->size; }
  /// Whether an element is a pair whose members have bytes between or behind them that are not data.
  bool has_padding() const { return type->size != type->extent; }
};

/// The one basic type that `datatype` is made of, or null when there are several or none.
const BasicInfo* basic_type_of(const Datatype& datatype);

/// The Combination of `op` and `datatype`; `fetches`: MPI_NO_OP is legal. kErrOp: not predefined, or not
/// defined for the type; kErrType: made of several basic types.
Code make_combination(Process& process, const Op& op, const Datatype& datatype, bool fetches,
                      Combination* combination);

/// The same from numbers that came in a message. Returns false when they do not fit.
bool make_combination(std::uint16_t op, std::uint16_t basic, Combination* combination);

/// Whether MPI_Compare_and_swap takes the type (MPI 12.3.4): integers, logicals and bytes.
bool can_compare_and_swap(const BasicInfo& type);

}  // namespace tasuki::rma
