// The mpi.h that this translation unit is compiled for, and what Fortran makes of its types. The build
// compiles every file of this folder once for each ABI.
#pragma once

#ifdef TASUKI_ABI_MPICH
#include "generated/binding/abi/mpich/mpi.h"
#else
#include "mpi.h"
#endif

namespace tasuki::fortran {

using Fint = int;  // INTEGER of default kind
inline constexpr int kStatusIntegers = sizeof(MPI_Status) / sizeof(Fint);

}  // namespace tasuki::fortran
