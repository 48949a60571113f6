// The user's calls on reduction operations (MPI 6.9). The rules of these signatures are in bindgen/README.md.
// Freeing a predefined operation is an error.
#pragma once

#include "base/process.hpp"
#include "base/types.hpp"
#include "reduction/op.hpp"

namespace tasuki::api {

Code op_create(Process& process, AnyFunction user_fn, bool commute, Op** op, bool wide);
Code op_free(Process& process, Op** op);
Code op_commutative(Process& process, Op* op, bool* commute);
Code reduce_local(Process& process, const void* inbuf, void* inoutbuf, Count count, Datatype* datatype,
                  Op* op);

}  // namespace tasuki::api
