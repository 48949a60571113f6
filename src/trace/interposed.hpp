// The front: the library that is preloaded has every function that is recorded under its MPI name, and passes
// the call on to the wrappers of the ABI that the program uses, which is known once an MPI library is loaded.
//
// The front is compiled with the standard ABI's types and passes arguments on as they come. That serves the
// other ABI as well: the parameters of a function are the same in both, and differ only in whether a handle
// is a pointer or an int, which travel in the same registers and the same slots of the stack on the machines
// there are.
#pragma once

#include <mpi.h>

#include "trace/generated/tables.hpp"

namespace tasuki::trace {

/// What the calls go to: the wrappers, or an MPI library's own functions where it has neither ABI.
const standard::Functions& functions();

}  // namespace tasuki::trace
