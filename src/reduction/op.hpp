// Op: a reduction operation, predefined or made by the user (MPI 6.9).
#pragma once

#include "base/types.hpp"
#include "object/object.hpp"

namespace tasuki {

struct Process;
struct Datatype;
struct Objects;

struct Op : Object {
  Op() : Object(Kind::kOp) {}
  bool commutative = true;
  bool wide = false;               // made by MPI_Op_create_c
  AnyFunction function = nullptr;  // a user's; null for the predefined ones
};

/// Makes the predefined operations.
void make_predefined_ops(Objects& objects);

/// Whether the predefined `op` is defined for `datatype` (MPI 6.9.2); always true for a user's op.
bool op_accepts(const Op& op, const Datatype& datatype);

/// kErrOp, with a text that names both, unless op_accepts(op, datatype).
Code check_op(Process& process, const Op& op, const Datatype& datatype);

/// "MPI_SUM"; "a user's operation".
const char* op_name(const Op& op);

/// inout[i] = in[i] op inout[i] for i in 0..count-1. REQUIRES: op_accepts(op, datatype).
void reduce_local(Process& process, const Op& op, const void* in, void* inout, Count count,
                  Datatype& datatype);

/// result[i] = left[i] op right[i]. The result may be the right operand; the left one only where the
/// operation is predefined; else it overlaps neither. REQUIRES: op_accepts(op, datatype); datatype.contiguous
/// where it is not predefined.
void combine_local(Process& process, const Op& op, const void* left, const void* right, void* result,
                   Count count, Datatype& datatype);

}  // namespace tasuki
