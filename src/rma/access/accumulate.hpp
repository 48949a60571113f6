// Accumulates: combining elements of a window's memory with an origin's, atomically for each element
// (MPI 12.3).
//
// How an element is combined depends on its basic type and on its address alone:
//  - one of 1, 2, 4 or 8 bytes whose address is a multiple of its size: by instructions of the processor, of
//    that width (a fetching addition where there is one, else a loop of compare-and-swap around the kernel of
//    the reduction);
//  - any other (16 bytes, pairs with padding, odd addresses): under the lock of its target.
// Accumulates that meet at one location use one basic type (MPI 12.7.1), so all of them, whatever their
// operations, and whichever rank carries them out, take the same of the two ways: that makes them atomic to
// each other. MPI_Compare_and_swap and the fetching calls follow the same rule.
//
// Thread safety: any number of ranks may combine at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/process.hpp"
#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "datatype/predefined.hpp"
#include "reduction/op.hpp"
#include "reduction/op_kernels.hpp"
#include "rma/control/shared_mutex.hpp"

namespace tasuki::rma {

/// What is done to each element.
struct Combination {
  const BasicInfo* type = nullptr;
  std::uint16_t op = 0;              // kMpiReplace, kMpiNoOp, or one with a kernel
  ReductionKernel kernel = nullptr;  // null for these two

  Count element_bytes() const { return type->size; }
};

/// The one basic type that `datatype` is made of, or null when there are several or none.
const BasicInfo* basic_type_of(const Datatype& datatype);

/// The Combination of `op` and `datatype`; `fetches`: MPI_NO_OP is legal. kErrOp: not predefined, or not
/// defined for the type; kErrType: made of several basic types.
Code make_combination(Process& process, const Op& op, const Datatype& datatype, bool fetches,
                      Combination* combination);

/// The same from numbers that came in a message. Returns false when they do not fit.
bool make_combination(std::uint16_t op, std::uint16_t basic, Combination* combination);

/// PlacedElements of a target, in this process's memory.
struct Operand {
  std::byte* base;  // where displacements of the datatype count from
  Count count;
  const Datatype* datatype;
  SharedMutex* mutex;  // of the target
};

/// Combines bytes [from, to) of the packed form of `target` with the packed bytes at `in`, and leaves what
/// was there before at `result`. `in` may be null for kMpiNoOp; `result` may be null. REQUIRES: from and to
/// are multiples of the element's size.
void combine(const Combination& combination, const Operand& target, Count from, Count to, const std::byte* in,
             std::byte* result);

/// The commonest case of the above: an integer that the processor can add to, exchange or read. Returns
/// false, having done nothing, where it is another case. `in` is not read for kMpiNoOp.
bool fetch_word(const BasicInfo& type, std::uint16_t op, std::byte* place, const std::byte* in,
                std::byte* result);

/// MPI_Compare_and_swap of one element: `result` gets the old value.
void compare_and_swap(const BasicInfo& type, std::byte* place, const std::byte* compare,
                      const std::byte* origin, std::byte* result, SharedMutex& mutex);

/// Whether MPI_Compare_and_swap takes the type (MPI 12.3.4): integers, logicals and bytes.
bool can_compare_and_swap(const BasicInfo& type);

}  // namespace tasuki::rma
