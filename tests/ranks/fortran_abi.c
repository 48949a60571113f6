/* What the ABI says of Fortran: known sizes without a word from anybody, once-only settings, refusals. */
#include <string.h>

#include "check.h"

static void expect(MPI_Info info, const char* key, const char* expected) {
  char value[32] = "";
  int length = sizeof value, given = 0;
  MPI_Info_get_string(info, key, &length, value, &given);
  CHECK(given && strcmp(value, expected) == 0, "%s = \"%s\", not \"%s\"", key, value, expected);
}

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

static void check_info(void) {
  char text[32];
  int size;
  MPI_Info info;
  MPI_Abi_get_fortran_info(&info);
  CHECK(info != MPI_INFO_NULL, "no Fortran information");
  MPI_Type_size(MPI_INTEGER, &size);
  snprintf(text, sizeof text, "%d", size);
  expect(info, "mpi_integer_size", text);
  expect(info, "mpi_double_precision_size", "8");
  expect(info, "mpi_integer8_supported", "true");
  expect(info, "mpi_double_complex_supported", "true");

  MPI_Info other;
  MPI_Info_dup(info, &other);
  MPI_Info_set(other, "mpi_integer_size", "8");
  CHECK(class_of(MPI_Abi_set_fortran_info(other)) == MPI_ERR_ABI, "another size of INTEGER is taken");
  MPI_Info_set(other, "mpi_integer_size", text);
  MPI_Info_set(other, "mpi_real4_supported", "maybe");
  CHECK(class_of(MPI_Abi_set_fortran_info(other)) == MPI_ERR_ABI, "\"maybe\" is taken");
  MPI_Info_set(other, "mpi_real4_supported", "true");
  MPI_Info_set(other, "mpi_integer16_supported", "false");
  CHECK(MPI_Abi_set_fortran_info(other) == MPI_SUCCESS, "right information is refused");
  CHECK(class_of(MPI_Abi_set_fortran_info(other)) == MPI_ERR_ABI, "it can be set twice");
  MPI_Info_free(&info);
  MPI_Abi_get_fortran_info(&info);
  expect(info, "mpi_integer16_supported", "false");
  MPI_Info_free(&info);
  MPI_Info_free(&other);
}

static void check_booleans(void) {
  int is_set = 1, true_value = -1, false_value = 0, yes = 7, no = 7;
  MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set);
  CHECK(!is_set, "truth values are known, though nobody has said them");
  CHECK(class_of(MPI_Abi_set_fortran_booleans(3, &true_value, &false_value)) == MPI_ERR_ARG,
        "LOGICALs of 3 bytes are taken");
  CHECK(MPI_Abi_set_fortran_booleans(4, &true_value, &false_value) == MPI_SUCCESS, "they cannot be set");
  CHECK(class_of(MPI_Abi_set_fortran_booleans(4, &true_value, &false_value)) == MPI_ERR_ABI, "set twice");
  MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set);
  CHECK(is_set && yes == true_value && no == false_value, "set: %d, true: %d, false: %d", is_set, yes, no);
  MPI_Abi_get_fortran_booleans(8, &yes, &no, &is_set);
  CHECK(!is_set, "those of another size are known");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  check_info();
  check_booleans();
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("fortran abi: right\n");
  MPI_Finalize();
  return 0;
}
