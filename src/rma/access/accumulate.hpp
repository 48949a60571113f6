// Accumulates: combining elements of a window's memory with an origin's, atomically for each element
// (MPI 12.3), in memory that this process can address.
//
// Words (control/element_guard.hpp) are combined by instructions of the processor: a fetching addition where
// there is one, else a loop of compare-and-swap around the kernel of the reduction; or, once a rank had many
// of them to combine, by the kernel on all that lie in a block, under the block's lock. What is no word
// is always combined under a lock. Where a rank knows that it is alone it needs neither.
//
// Accumulates that meet at one location use one basic type (MPI 12.7.1), so all of them, whatever their
// operations, and whichever rank carries them out, go by the same guard: that makes them atomic to each
// other. MPI_Compare_and_swap and the fetching calls follow the same rule.
//
// Thread safety: any number of ranks may combine at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "rma/combination.hpp"
#include "rma/control/element_guard.hpp"

namespace tasuki::rma {

/// PlacedElements of a target, in this process's memory.
struct Operand {
  std::byte* base;  // where displacements of the datatype count from
  Count count;
  const Datatype* datatype;
  ElementGuard guard;  // of the target
};

/// Combines bytes [from, to) of the packed form of `target` with the packed bytes at `in`, and leaves what
/// was there before at `result`. `in` may be null for kMpiNoOp; `result` may be null. REQUIRES: from and to
/// are multiples of the element's size.
void combine(const Combination& combination, const Operand& target, Count from, Count to, const std::byte* in,
             std::byte* result);

/// The same of `count` elements of the combination's type that follow each other at `place`. All three are
/// arrays as a program has them: with padding, where the type has it.
void combine_array(const Combination& combination, const ElementGuard& guard, std::byte* place, Count count,
                   const std::byte* in, std::byte* result);

/// combine_array() of one element of a type without padding. Returns whether it ended with an instruction
/// that orders memory by itself, so that a flush has nothing to order (x86-64).
bool combine_one(const Combination& combination, const ElementGuard& guard, std::byte* place,
                 const std::byte* in, std::byte* result);

/// MPI_Compare_and_swap of one element: `result` gets the old value.
void compare_and_swap(const BasicInfo& type, const ElementGuard& guard, std::byte* place,
                      const std::byte* compare, const std::byte* origin, std::byte* result);

}  // namespace tasuki::rma
