// The sentinels' memory. That of the standard ABI has the names of the MPICH ABI's, too.
#include "fortran/sentinels.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>

extern "C" {
decltype(mpipriv1_) mpipriv1_ = {};
decltype(mpipriv2_) mpipriv2_ = {};
decltype(mpiprivc_) mpiprivc_ = {};
int mpifcmb5_ = 0;
int mpifcmb9_ = 0;
int mpifcmba_ = 0;

int MPIR_F08_MPI_BOTTOM = 0, MPIR_F08_MPI_IN_PLACE = 0, MPIR_F08_MPI_BUFFER_AUTOMATIC = 0;
MPI_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ = {}, MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1] = {};
int MPIR_F08_MPI_ERRCODES_IGNORE[1] = {}, MPIR_F08_MPI_UNWEIGHTED[1] = {}, MPIR_F08_MPI_WEIGHTS_EMPTY[1] = {};
char MPIR_F08_MPI_ARGV_NULL[1] = {' '}, MPIR_F08_MPI_ARGVS_NULL[1] = {' '};

#ifdef TASUKI_ABI_MPICH
// Of MPICH's module mpi_f08, as gfortran names them.
int __mpi_f08_link_constants_MOD_mpi_unweighted = 0, __mpi_f08_link_constants_MOD_mpi_weights_empty = 0;
int __mpi_f08_link_constants_MOD_mpi_errcodes_ignore = 0;
char __mpi_f08_link_constants_MOD_mpi_argv_null = ' ', __mpi_f08_link_constants_MOD_mpi_argvs_null = ' ';
#endif

extern const char* tasuki_fortran_hint;  // of the C library
}

namespace tasuki::fortran {

MpifPlaces mpif = {&mpipriv1_.bottom, &mpipriv1_.in_place, mpipriv1_.status_ignore, mpipriv2_.statuses_ignore,
                   &mpipriv2_.errcodes_ignore};

#ifndef TASUKI_ABI_MPICH
bool has_wide_integers = false;
#endif

namespace {

/// A program with INTEGERs of eight bytes: its copies of the common blocks have twice the size.
[[gnu::constructor]] void find_places() {
  Dl_info object = {};
  void* found = nullptr;
  if (dladdr1(&mpipriv1_, &object, &found, RTLD_DL_SYMENT) == 0 || found == nullptr) return;
  if (static_cast<const ElfW(Sym)*>(found)->st_size != 2 * sizeof mpipriv1_) return;
  const auto* const first = reinterpret_cast<const std::int64_t*>(&mpipriv1_);
  const auto* const second = reinterpret_cast<const std::int64_t*>(&mpipriv2_);
  mpif = {first, first + 1, first + 2, second, second + kStatusIntegers};
#ifndef TASUKI_ABI_MPICH
  has_wide_integers = true;
#endif
  tasuki_fortran_hint =
      "the program was compiled with INTEGERs of 8 bytes, MPI's have 4: arrays that MPI reads or fills "
      "(statuses, requests, counts) have to be INTEGER(4) (docs/fortran.md)";
}

}  // namespace

void tell_of_wide_integers() {
#ifndef TASUKI_ABI_MPICH
  int rank = -1;
  if (tasuki_fortran_hint == nullptr || PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || rank != 0)
    return;
  std::fprintf(stderr, "tasuki: %s\n", tasuki_fortran_hint);
#endif
}

void look_at_integers(const char* function, const char* name, const Fint* array, std::int64_t count) {
  static std::atomic<bool> is_told = false;
  bool is_zero = true;
  for (std::int64_t i = 0; i + 1 < count; i += 2) {
    if (array[i + 1] != (array[i] < 0 ? -1 : 0)) return;
    is_zero = is_zero && array[i] == 0;
  }
  if (is_zero || is_told.exchange(true)) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(
      stderr,
      "tasuki: rank %d: %s: %s = %d, %d%s: every second element is the upper half of the one before, if "
      "the array has INTEGERs of 8 bytes; expected INTEGER(4), of which MPI reads %lld "
      "(docs/fortran.md)\n",
      rank, function, name, array[0], array[1], count > 2 ? " ..." : "", static_cast<long long>(count));
}

#ifdef TASUKI_ABI_MPICH
bool is_unweighted(const void* address) {
  return address == &mpifcmb5_ || address == MPIR_F08_MPI_UNWEIGHTED ||
         address == &__mpi_f08_link_constants_MOD_mpi_unweighted;
}
bool is_weights_empty(const void* address) {
  return address == &mpifcmb9_ || address == MPIR_F08_MPI_WEIGHTS_EMPTY ||
         address == &__mpi_f08_link_constants_MOD_mpi_weights_empty;
}
bool is_errcodes_ignore(const void* address) {
  return address == mpif.errcodes_ignore || address == MPIR_F08_MPI_ERRCODES_IGNORE ||
         address == &__mpi_f08_link_constants_MOD_mpi_errcodes_ignore;
}
bool is_argv_null(const void* address) {
  return address == &mpiprivc_.argv_null || address == MPIR_F08_MPI_ARGV_NULL ||
         address == &__mpi_f08_link_constants_MOD_mpi_argv_null;
}
bool is_argvs_null(const void* address) {
  return address == &mpiprivc_.argvs_null || address == MPIR_F08_MPI_ARGVS_NULL ||
         address == &__mpi_f08_link_constants_MOD_mpi_argvs_null;
}
#else
bool is_unweighted(const void* address) {
  return address == &mpifcmb5_ || address == MPIR_F08_MPI_UNWEIGHTED;
}
bool is_weights_empty(const void* address) {
  return address == &mpifcmb9_ || address == MPIR_F08_MPI_WEIGHTS_EMPTY;
}
bool is_errcodes_ignore(const void* address) {
  return address == mpif.errcodes_ignore || address == MPIR_F08_MPI_ERRCODES_IGNORE;
}
bool is_argv_null(const void* address) {
  return address == &mpiprivc_.argv_null || address == MPIR_F08_MPI_ARGV_NULL;
}
bool is_argvs_null(const void* address) {
  return address == &mpiprivc_.argvs_null || address == MPIR_F08_MPI_ARGVS_NULL;
}
#endif

}  // namespace tasuki::fortran
