// What the front knows of the wrappers of either ABI: tables of pointers in the order of kFunctionNames.
#pragma once

#include <cstddef>

namespace tasuki::trace {

struct AbiLibrary {
  const void* traced;  // the wrappers: Functions
  void** real;         // to be filled: the library's own, functions and helpers
  std::size_t functions;
  std::size_t helpers;
};

AbiLibrary standard_library();
AbiLibrary mpich_library();

}  // namespace tasuki::trace
