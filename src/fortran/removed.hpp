// The procedures that MPI-3.0 removed, for old programs: their addresses are default INTEGERs.
#pragma once

#include <climits>
#include <vector>

#include "fortran/arguments.hpp"

namespace tasuki::fortran {
/// An address in an INTEGER: what does not fit is told, since it would be another one.
inline void give_integer(MPI_Aint value, Fint* place, Fint* ierror) {
  const bool fits = value >= INT_MIN && value <= INT_MAX;
  *place = fits ? static_cast<Fint>(value) : MPI_UNDEFINED;
  if (!fits) PMPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_ARG);
  give(ierror, fits ? MPI_SUCCESS : MPI_ERR_ARG);
}

/// The bounds of a datatype: the part of them that `place` asks for.
template <class Part>
void give_bound(const Fint* datatype, Fint* place, Fint* ierror, const Part& part) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  const int code = PMPI_Type_get_extent(c_handle<MPI_Datatype>(*datatype), &lower, &extent);
  if (code != MPI_SUCCESS) return give(ierror, code);
  give_integer(part(lower, extent), place, ierror);
}

inline std::vector<MPI_Aint> wide(const Fint* values, Fint count) {
  return {values, values + (count > 0 ? count : 0)};
}

template <auto kCall>
void mpi_address(const void* location, Fint* address, Fint* ierror) {
  MPI_Aint value = 0;
  const int code = kCall(c_buffer(location), &value);
  if (code != MPI_SUCCESS) return give(ierror, code);
  give_integer(value, address, ierror);
}
template <auto kCall>
void mpi_type_extent(const Fint* datatype, Fint* extent, Fint* ierror) {
  give_bound(datatype, extent, ierror, [](MPI_Aint, MPI_Aint size) { return size; });
}
template <auto kCall>
void mpi_type_lb(const Fint* datatype, Fint* bound, Fint* ierror) {
  give_bound(datatype, bound, ierror, [](MPI_Aint lower, MPI_Aint) { return lower; });
}
template <auto kCall>
void mpi_type_ub(const Fint* datatype, Fint* bound, Fint* ierror) {
  give_bound(datatype, bound, ierror, [](MPI_Aint lower, MPI_Aint size) { return lower + size; });
}
template <auto kCall>
void mpi_type_hvector(const Fint* count, const Fint* length, const Fint* stride, const Fint* oldtype,
                      Fint* newtype, Fint* ierror) {
  give(ierror,
       kCall(*count, *length, *stride, c_handle<MPI_Datatype>(*oldtype), HandleOut<MPI_Datatype>(newtype)));
}
template <auto kCall>
void mpi_type_hindexed(const Fint* count, const Fint* lengths, const Fint* displacements, const Fint* oldtype,
                       Fint* newtype, Fint* ierror) {
  give(ierror, kCall(*count, lengths, wide(displacements, *count).data(), c_handle<MPI_Datatype>(*oldtype),
                     HandleOut<MPI_Datatype>(newtype)));
}
template <auto kCall>
void mpi_type_struct(const Fint* count, const Fint* lengths, const Fint* displacements, const Fint* types,
                     Fint* newtype, Fint* ierror) {
  give(ierror, kCall(*count, lengths, wide(displacements, *count).data(),
                     HandlesIn<MPI_Datatype>(types, *count), HandleOut<MPI_Datatype>(newtype)));
}
template <auto kCall>
void mpi_errhandler_create(MPI_Comm_errhandler_function* function, Fint* errhandler, Fint* ierror) {
  give(ierror, kCall(function, HandleOut<MPI_Errhandler>(errhandler)));
}
template <auto kCall>
void mpi_errhandler_get(const Fint* comm, Fint* errhandler, Fint* ierror) {
  give(ierror, kCall(c_handle<MPI_Comm>(*comm), HandleOut<MPI_Errhandler>(errhandler)));
}
template <auto kCall>
void mpi_errhandler_set(const Fint* comm, const Fint* errhandler, Fint* ierror) {
  give(ierror, kCall(c_handle<MPI_Comm>(*comm), c_handle<MPI_Errhandler>(*errhandler)));
}

}  // namespace tasuki::fortran
