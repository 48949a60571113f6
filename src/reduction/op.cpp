// Reduction operations: which types they take, and how they are applied (MPI 6.9).
#include "reduction/op.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>

#include "base/calls/unlocked.hpp"
#include "base/predefined.hpp"
#include "datatype/datatype.hpp"
#include "datatype/predefined.hpp"
#include "object/callbacks.hpp"
#include "object/objects.hpp"
#include "reduction/api.hpp"
#include "reduction/op_kernels.hpp"

namespace tasuki {
namespace {

/// A user's function: those made without `_c` take an int, so that long reductions are cut into pieces.
void reduce_by_user(Process& process, const Op& op, const void* in, void* inout, Count count,
                    Datatype& datatype) {
  const Count piece_max = op.wide ? count : INT_MAX;
  const std::byte* from = static_cast<const std::byte*>(in);
  std::byte* to = static_cast<std::byte*>(inout);
  while (count > 0) {
    const Count piece = std::min(count, piece_max);
    process.callbacks->reduce(op.function, op.wide, from, to, piece, &datatype);
    from += piece * datatype.extent;
    to += piece * datatype.extent;
    count -= piece;
  }
}

}  // namespace

ReductionKernel find_reduction_kernel(const Op& op, const Datatype& datatype) {
  const BasicInfo* info = basic_info(datatype);
  return info != nullptr ? find_reduction_kernel(op.predefined, *info) : nullptr;
}

void make_predefined_ops(Objects& objects) {
  constexpr Predefined kOps[] = {kMpiSum,  kMpiMin, kMpiMax,  kMpiProd,   kMpiBand,   kMpiBor,     kMpiBxor,
                                 kMpiLand, kMpiLor, kMpiLxor, kMpiMinloc, kMpiMaxloc, kMpiReplace, kMpiNoOp};
  for (const Predefined number : kOps) {
    Op* op = new Op;
    op->predefined = number;
    op->commutative = number != kMpiReplace && number != kMpiNoOp;
    objects.predefined[number] = op;
  }
}

bool op_accepts(const Op& op, const Datatype& datatype) {
  return op.function != nullptr || find_reduction_kernel(op, datatype) != nullptr;
}

Code check_op(Process& process, const Op& op, const Datatype& datatype) {
  if (op_accepts(op, datatype)) return kSuccess;
  if (basic_info(datatype) == nullptr)
    return process.fail(kErrOp, "op = %s with a derived datatype, expected a predefined one", op_name(op));
  return process.fail(kErrOp, "op = %s is not defined for datatype = %s", op_name(op), datatype.name.c_str());
}

const char* op_name(const Op& op) {
  switch (op.predefined) {
    case kMpiMax:
      return "MPI_MAX";
    case kMpiMin:
      return "MPI_MIN";
    case kMpiSum:
      return "MPI_SUM";
    case kMpiProd:
      return "MPI_PROD";
    case kMpiBand:
      return "MPI_BAND";
    case kMpiBor:
      return "MPI_BOR";
    case kMpiBxor:
      return "MPI_BXOR";
    case kMpiLand:
      return "MPI_LAND";
    case kMpiLor:
      return "MPI_LOR";
    case kMpiLxor:
      return "MPI_LXOR";
    case kMpiMaxloc:
      return "MPI_MAXLOC";
    case kMpiMinloc:
      return "MPI_MINLOC";
    case kMpiReplace:
      return "MPI_REPLACE";
    case kMpiNoOp:
      return "MPI_NO_OP";
    default:
      return "a user's operation";
  }
}

void reduce_local(Process& process, const Op& op, const void* in, void* inout, Count count,
                  Datatype& datatype) {
  if (count <= 0) return;
  if (op.function != nullptr) return reduce_by_user(process, op, in, inout, count, datatype);
  find_reduction_kernel(op, datatype)(in, inout, inout, static_cast<std::size_t>(count));
}

void combine_local(Process& process, const Op& op, const void* left, const void* right, void* result,
                   Count count, Datatype& datatype) {
  if (count <= 0) return;
  if (op.function == nullptr)
    return find_reduction_kernel(op, datatype)(left, right, result, static_cast<std::size_t>(count));
  if (result != right) std::memcpy(result, right, static_cast<std::size_t>(count * datatype.size));
  reduce_by_user(process, op, left, result, count, datatype);
}

namespace api {

Code op_create(Process& process, AnyFunction user_fn, bool commute, Op** op, bool wide) {
  if (user_fn == nullptr) return process.fail(kErrArg, "user_fn is null, expected a function");
  Op* made = new Op;
  made->commutative = commute;
  made->wide = wide;
  made->function = user_fn;
  *op = made;
  return kSuccess;
}

Code op_free(Process& process, Op** op) {
  if ((*op)->predefined != 0)
    return process.fail(kErrOp,
                        "op = %s, which is predefined and cannot be freed, expected one of MPI_Op_create",
                        op_name(**op));
  release(*op);
  *op = nullptr;
  return kSuccess;
}

Code op_commutative(Process&, Op* op, bool* commute) {
  *commute = op->commutative;
  return kSuccess;
}

Code reduce_local(Process& process, const void* inbuf, void* inoutbuf, Count count, Datatype* datatype,
                  Op* op) {
  if (inbuf == kInPlace || inoutbuf == kInPlace)
    return process.fail(kErrBuffer, "%s = MPI_IN_PLACE, expected a buffer",
                        inbuf == kInPlace ? "inbuf" : "inoutbuf");
  if (const Code code = check_op(process, *op, *datatype)) return code;
  if (inbuf == inoutbuf && count > 0 && datatype->size > 0)
    return process.fail(kErrBuffer, "inbuf and inoutbuf are both %p, expected two buffers", inbuf);
  const bool is_kernel = op->function == nullptr;  // a user's function is called without the lock in any case
  const Unlocked unlocked(process, is_kernel ? count * datatype->size : 0);
  tasuki::reduce_local(process, *op, inbuf, inoutbuf, count, *datatype);
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
