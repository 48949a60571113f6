// The constants of MPI in Fortran that are told by their addresses (MPI 5.0, 2.5.4): MPI_BOTTOM and its kin.
//
// There are two sets of them: the common blocks of mpif.h and the module mpi, whose names and layouts are
// those of the MPICH ABI, and the variables of the module mpi_f08. A program's copy of a common block takes
// the place of the library's, so every comparison goes by the address that the linker settled on; and as the
// program's copy says how large INTEGERs are there, sentinels.cpp looks at its size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fortran/abi.hpp"

extern "C" {
extern struct {
  int bottom, in_place;
  int status_ignore[tasuki::fortran::kStatusIntegers];
} mpipriv1_;
extern struct {
  int statuses_ignore[tasuki::fortran::kStatusIntegers];
  int errcodes_ignore;
} mpipriv2_;
extern struct { char argvs_null, argv_null; } mpiprivc_;
extern int mpifcmb5_;  // MPI_UNWEIGHTED
extern int mpifcmb9_;  // MPI_WEIGHTS_EMPTY
extern int mpifcmba_;  // MPI_BUFFER_AUTOMATIC

extern int MPIR_F08_MPI_BOTTOM, MPIR_F08_MPI_IN_PLACE, MPIR_F08_MPI_BUFFER_AUTOMATIC;
extern MPI_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
extern int MPIR_F08_MPI_ERRCODES_IGNORE[1], MPIR_F08_MPI_UNWEIGHTED[1], MPIR_F08_MPI_WEIGHTS_EMPTY[1];
extern char MPIR_F08_MPI_ARGV_NULL[1], MPIR_F08_MPI_ARGVS_NULL[1];
}

namespace tasuki::fortran {

/// Where mpif.h's sentinels lie in this program. In one that was compiled with INTEGERs of eight bytes they
/// lie further apart. Set before the program begins.
struct MpifPlaces {
  const void *bottom, *in_place, *status_ignore, *statuses_ignore, *errcodes_ignore;
};
extern MpifPlaces mpif [[gnu::visibility("hidden")]];

/// In MPI_Init: says what does not work in a program with INTEGERs of eight bytes, where that was built with
/// our mpif.h. Those that were built with MPICH's are older than we are, and know what works there.
void tell_of_wide_integers();
/// Whether the program's INTEGERs have eight bytes, by the size of its common blocks, and our mpif.h says so.
#ifdef TASUKI_ABI_MPICH
inline constexpr bool has_wide_integers = false;
#else
extern bool has_wide_integers [[gnu::visibility("hidden")]];
#endif
/// In such a program: says, once, that an array which MPI reads looks as if its elements had eight bytes.
/// Only a note, for an array of four bytes whose every second element is 0 looks alike.
[[gnu::noinline, gnu::cold]] void look_at_integers(const char* function, const char* name, const Fint* array,
                                                   std::int64_t count);

// Whether an address is that of a sentinel, in any interface: of those that short calls do not ask for.
bool is_unweighted(const void* address);
bool is_weights_empty(const void* address);
bool is_errcodes_ignore(const void* address);
bool is_argv_null(const void* address);
bool is_argvs_null(const void* address);

}  // namespace tasuki::fortran
