// Procedures that call nothing of C: == and /= of handles, MPI_Sizeof, MPI_F_sync_reg, and the predefined
// ones that a program passes to MPI.
#include "fortran/section.hpp"

using tasuki::fortran::Descriptor;
using tasuki::fortran::Fint;
using tasuki::fortran::give;
using tasuki::fortran::Section;

extern "C" {

// All handles of Fortran are one INTEGER; a LOGICAL is returned as an INTEGER.

int tasuki_comm_eq_(const Fint* a, const Fint* b) {
  return *a == *b ? 1 : 0;
}
int tasuki_comm_ne_(const Fint* a, const Fint* b) {
  return *a != *b ? 1 : 0;
}
[[gnu::alias("tasuki_comm_eq_")]] int tasuki_datatype_eq_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_ne_")]] int tasuki_datatype_ne_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_eq_")]] int tasuki_errhandler_eq_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_ne_")]] int tasuki_errhandler_ne_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_eq_")]] int tasuki_file_eq_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_ne_")]] int tasuki_file_ne_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_eq_")]] int tasuki_group_eq_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_ne_")]] int tasuki_group_ne_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_eq_")]] int tasuki_info_eq_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_ne_")]] int tasuki_info_ne_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_eq_")]] int tasuki_message_eq_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_ne_")]] int tasuki_message_ne_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_eq_")]] int tasuki_op_eq_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_ne_")]] int tasuki_op_ne_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_eq_")]] int tasuki_request_eq_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_ne_")]] int tasuki_request_ne_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_eq_")]] int tasuki_session_eq_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_ne_")]] int tasuki_session_ne_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_eq_")]] int tasuki_win_eq_(const Fint* a, const Fint* b);
[[gnu::alias("tasuki_comm_ne_")]] int tasuki_win_ne_(const Fint* a, const Fint* b);

void mpi_sizeof_f08ts_(const Descriptor* x, Fint* size, Fint* ierror) {
  *size = static_cast<Fint>(Section(x).element_bytes());
  give(ierror, MPI_SUCCESS);
}
[[gnu::alias("mpi_sizeof_f08ts_")]] void pmpi_sizeof_f08ts_(const Descriptor* x, Fint* size, Fint* ierror);

// A call that the compiler cannot look into: it has to have the buffer in memory.
void mpi_f_sync_reg_(void* /*buffer*/) {}
[[gnu::alias("mpi_f_sync_reg_")]] void pmpi_f_sync_reg_(void* buffer);
[[gnu::alias("mpi_f_sync_reg_")]] void mpi_f_sync_reg(void* buffer);
[[gnu::alias("mpi_f_sync_reg_")]] void pmpi_f_sync_reg(void* buffer);
[[gnu::alias("mpi_f_sync_reg_")]] void mpi_f_sync_reg__(void* buffer);
[[gnu::alias("mpi_f_sync_reg_")]] void pmpi_f_sync_reg__(void* buffer);
[[gnu::alias("mpi_f_sync_reg_")]] void MPI_F_SYNC_REG(void* buffer);
[[gnu::alias("mpi_f_sync_reg_")]] void PMPI_F_SYNC_REG(void* buffer);
[[gnu::alias("mpi_f_sync_reg_")]] void mpi_f_sync_reg_f08ts_(void* buffer);
[[gnu::alias("mpi_f_sync_reg_")]] void pmpi_f_sync_reg_f08ts_(void* buffer);
[[gnu::alias("mpi_f_sync_reg_")]] void pmpir_f_sync_reg_f08ts_(void* buffer);  // MPICH's module's

void mpi_comm_dup_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint* in, MPI_Aint* out, Fint* flag, Fint* ierror) {
  *out = *in;
  *flag = 1;
  give(ierror, MPI_SUCCESS);
}
void mpi_comm_null_copy_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*, MPI_Aint*, Fint* flag, Fint* ierror) {
  *flag = 0;
  give(ierror, MPI_SUCCESS);
}
void mpi_comm_null_delete_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*, Fint* ierror) {
  give(ierror, MPI_SUCCESS);
}
[[gnu::alias("mpi_comm_dup_fn_")]] void mpi_type_dup_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*, MPI_Aint*, Fint*,
                                                         Fint*);
[[gnu::alias("mpi_comm_null_copy_fn_")]] void mpi_type_null_copy_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*,
                                                                     MPI_Aint*, Fint*, Fint*);
[[gnu::alias("mpi_comm_null_delete_fn_")]] void mpi_type_null_delete_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*,
                                                                         Fint*);
[[gnu::alias("mpi_comm_dup_fn_")]] void mpi_win_dup_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*, MPI_Aint*, Fint*,
                                                        Fint*);
[[gnu::alias("mpi_comm_null_copy_fn_")]] void mpi_win_null_copy_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*,
                                                                    MPI_Aint*, Fint*, Fint*);
[[gnu::alias("mpi_comm_null_delete_fn_")]] void mpi_win_null_delete_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*,
                                                                        Fint*);

// MPI-1's, whose values are default INTEGERs.

void mpi_dup_fn_(Fint*, Fint*, Fint*, Fint* in, Fint* out, Fint* flag, Fint* ierror) {
  *out = *in;
  *flag = 1;
  give(ierror, MPI_SUCCESS);
}
void mpi_null_copy_fn_(Fint*, Fint*, Fint*, Fint*, Fint*, Fint* flag, Fint* ierror) {
  *flag = 0;
  give(ierror, MPI_SUCCESS);
}
void mpi_null_delete_fn_(Fint*, Fint*, Fint*, Fint*, Fint* ierror) {
  give(ierror, MPI_SUCCESS);
}

void mpi_conversion_fn_null_(void*, Fint*, Fint*, void*, MPI_Offset*, MPI_Aint*, Fint* ierror) {
  give(ierror, MPI_ERR_CONVERSION);
}
void mpi_conversion_fn_null_c_(void*, Fint*, MPI_Count*, void*, MPI_Offset*, MPI_Aint*, Fint* ierror) {
  give(ierror, MPI_ERR_CONVERSION);
}

}  // extern "C"

#include "generated/fortran/predefined_names.hpp"
