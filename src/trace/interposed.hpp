// The interposed functions: the preloaded library defines every function that is recorded under its MPI name,
// and passes the call on to the wrapper of the ABI that the program uses. Which one that is is known once an
// MPI library is loaded.
//
// They are compiled with the standard ABI's types and pass arguments on as they come. That serves the
// other ABI as well: the parameters of a function are the same in both, and differ only in whether a handle
// is a pointer or an int, which travel in the same registers and the same slots of the stack on the machines
// there are.
#pragma once

#include <mpi.h>

#include "generated/trace/tables.hpp"
#include "trace/place/call_site.hpp"

namespace tasuki::trace {

/// The functions that the calls are passed on to: the wrappers, or an MPI library's own functions where it
/// has neither ABI.
const standard::Functions& functions();

/// The same, for a call of the program's that returns to `site`.
inline const standard::Functions& functions(const void* site) {
  returns_to = site;
  return functions();
}

}  // namespace tasuki::trace
