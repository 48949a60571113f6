// What the MPICH ABI has beyond MPI 5.0: the functions that MPI 3.0 removed, each its successor under the old
// name, and the constants that are variables or functions of the library.
#include "generated/binding/abi/mpich/mpi.h"

extern "C" {

int PMPI_Address(void* location, MPI_Aint* address) {
  return PMPI_Get_address(location, address);
}

int PMPI_Errhandler_create(MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) {
  return PMPI_Comm_create_errhandler(function, errhandler);
}

int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler) {
  return PMPI_Comm_get_errhandler(comm, errhandler);
}

int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler) {
  return PMPI_Comm_set_errhandler(comm, errhandler);
}

int PMPI_Type_extent(MPI_Datatype datatype, MPI_Aint* extent) {
  MPI_Aint lb;
  return PMPI_Type_get_extent(datatype, &lb, extent);
}

int PMPI_Type_hindexed(int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[],
                       MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return PMPI_Type_create_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, newtype);
}

int PMPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                      MPI_Datatype* newtype) {
  return PMPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}

int PMPI_Type_lb(MPI_Datatype datatype, MPI_Aint* displacement) {
  MPI_Aint extent;
  return PMPI_Type_get_extent(datatype, displacement, &extent);
}

int PMPI_Type_struct(int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[],
                     MPI_Datatype array_of_types[], MPI_Datatype* newtype) {
  return PMPI_Type_create_struct(count, array_of_blocklengths, array_of_displacements, array_of_types,
                                 newtype);
}

int PMPI_Type_ub(MPI_Datatype datatype, MPI_Aint* displacement) {
  MPI_Aint lb;
  MPI_Aint extent;
  const int code = PMPI_Type_get_extent(datatype, &lb, &extent);
  if (code == MPI_SUCCESS && displacement != nullptr) *displacement = lb + extent;
  return code;
}

// clang-format off
decltype(PMPI_Address) MPI_Address
    __attribute__((weak, alias("PMPI_Address")));
decltype(PMPI_Errhandler_create) MPI_Errhandler_create
    __attribute__((weak, alias("PMPI_Errhandler_create")));
decltype(PMPI_Errhandler_get) MPI_Errhandler_get
    __attribute__((weak, alias("PMPI_Errhandler_get")));
decltype(PMPI_Errhandler_set) MPI_Errhandler_set
    __attribute__((weak, alias("PMPI_Errhandler_set")));
decltype(PMPI_Type_extent) MPI_Type_extent
    __attribute__((weak, alias("PMPI_Type_extent")));
decltype(PMPI_Type_hindexed) MPI_Type_hindexed
    __attribute__((weak, alias("PMPI_Type_hindexed")));
decltype(PMPI_Type_hvector) MPI_Type_hvector
    __attribute__((weak, alias("PMPI_Type_hvector")));
decltype(PMPI_Type_lb) MPI_Type_lb
    __attribute__((weak, alias("PMPI_Type_lb")));
decltype(PMPI_Type_struct) MPI_Type_struct
    __attribute__((weak, alias("PMPI_Type_struct")));
decltype(PMPI_Type_ub) MPI_Type_ub
    __attribute__((weak, alias("PMPI_Type_ub")));
// clang-format on

// Addresses that mean "no weights" and "a Fortran status is not wanted".
static int unweighted[1];
static int weights_empty[1];
int* const MPI_UNWEIGHTED = unweighted;
int* const MPI_WEIGHTS_EMPTY = weights_empty;
MPI_Fint* MPI_F_STATUS_IGNORE = nullptr;
MPI_Fint* MPI_F_STATUSES_IGNORE = nullptr;
MPI_F08_status* MPI_F08_STATUS_IGNORE = nullptr;
MPI_F08_status* MPI_F08_STATUSES_IGNORE = nullptr;
static int all_handles;  // only its address counts: it is no handle, and not MPI_T_PVAR_HANDLE_NULL
struct MPIR_T_pvar_handle_s* const MPI_T_PVAR_ALL_HANDLES =
    reinterpret_cast<struct MPIR_T_pvar_handle_s*>(&all_handles);

// MPI_COMM_DUP_FN, MPI_TYPE_DUP_FN, MPI_WIN_DUP_FN and MPI_DUP_FN of this ABI.
int MPIR_Dup_fn(MPI_Comm, int, void*, void* attribute_val_in, void* attribute_val_out, int* flag) {
  *static_cast<void**>(attribute_val_out) = attribute_val_in;
  *flag = 1;
  return MPI_SUCCESS;
}

}  // extern "C"
