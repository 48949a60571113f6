// All that the interposed functions know of an ABI: tables of pointers, in the order of kFunctionNames, to
// the wrappers and to the MPI library's own functions.
#pragma once

#include <cstddef>

namespace tasuki::trace {

struct AbiLibrary {
  const void* traced;  // the wrappers, as a struct Functions
  void** real;         // to be filled with the library's own functions, then with the helpers
  std::size_t functions;
  std::size_t helpers;
};

AbiLibrary standard_library();
AbiLibrary mpich_library();

}  // namespace tasuki::trace
