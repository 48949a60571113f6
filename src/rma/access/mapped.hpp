// Operations on memory that is mapped here: this rank's own part of any window, and every part of one whose
// memory the ranks share. They are over when they return.
#pragma once

#include "rma/access/accumulate.hpp"
#include "rma/access/buffers.hpp"

namespace tasuki::rma {

/// Copies between `origin` and `remote.count` elements of `remote.type` at `target`.
void put_mapped(const OriginBuffer& origin, std::byte* target, const TargetBuffer& remote);
void get_mapped(const OriginBuffer& origin, const std::byte* target, const TargetBuffer& remote);

/// Combines; `origin` may be null for MPI_NO_OP, `result` where the old elements are not wanted.
void combine_mapped(const Combination& how, const OriginBuffer* origin, const OriginBuffer* result,
                    const Operand& target);

}  // namespace tasuki::rma
