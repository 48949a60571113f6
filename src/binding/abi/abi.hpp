// The ABI that this translation unit is compiled for: namespace tasuki::abi. The build compiles every file of
// the binding once for each library.
#pragma once

#ifdef TASUKI_ABI_MPICH
#include "binding/abi/mpich/abi.hpp"
#else
#include "binding/abi/standard/abi.hpp"
#endif
