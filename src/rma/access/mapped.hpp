// Operations on memory that is mapped here: this rank's own part of any window, and every part of one whose
// memory the ranks share. They are over when they return.
#pragma once

#include "rma/access/accumulate.hpp"
#include "rma/access/buffers.hpp"

namespace tasuki::rma {

/// Copies between `origin` and `remote.count` elements of `remote.type` at `target`.
void put_direct(const Side& origin, std::byte* target, const Remote& remote);
void get_direct(const Side& origin, const std::byte* target, const Remote& remote);

/// Combines; `origin` may be null for MPI_NO_OP, `result` where nobody wants it.
void combine_direct(const Combination& how, const Side* origin, const Side* result, const Operand& target);

}  // namespace tasuki::rma
