// The entries that read and write a status: they touch nothing else, so they need no Process.
#include <cstring>

#include "binding/call.hpp"

namespace tasuki {
namespace {

/// A Fortran status, as an array or as a type, has the C status' members in the C status' order.
template <class To, class From>
int copy_status(const From* from, To* to) {
  if (from == nullptr || to == nullptr) return MPI_ERR_ARG;
  if (static_cast<const void*>(from) == static_cast<const void*>(MPI_STATUS_IGNORE)) return MPI_ERR_ARG;
  std::memcpy(to, from, sizeof(MPI_Status));
  return MPI_SUCCESS;
}
static_assert(sizeof(MPI_F08_status) == sizeof(MPI_Status));

bool is_status(const MPI_Status* status) {
  return status != nullptr && status != MPI_STATUS_IGNORE;
}

}  // namespace
}  // namespace tasuki

using namespace tasuki;

extern "C" int PMPI_Status_get_source(const MPI_Status* status, int* source) {
  if (!is_status(status) || source == nullptr) return MPI_ERR_ARG;
  *source = status->MPI_SOURCE;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_get_tag(const MPI_Status* status, int* tag) {
  if (!is_status(status) || tag == nullptr) return MPI_ERR_ARG;
  *tag = status->MPI_TAG;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_get_error(const MPI_Status* status, int* err) {
  if (!is_status(status) || err == nullptr) return MPI_ERR_ARG;
  *err = status->MPI_ERROR;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_set_source(MPI_Status* status, int source) {
  if (!is_status(status)) return MPI_ERR_ARG;
  status->MPI_SOURCE = source;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_set_tag(MPI_Status* status, int tag) {
  if (!is_status(status)) return MPI_ERR_ARG;
  status->MPI_TAG = tag;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_set_error(MPI_Status* status, int err) {
  if (!is_status(status)) return MPI_ERR_ARG;
  status->MPI_ERROR = err;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_set_cancelled(MPI_Status* status, int flag) {
  if (!is_status(status)) return MPI_ERR_ARG;
  Status core = abi::read_status(*status);
  core.cancelled = flag != 0;
  abi::write_status(core, status);
  return MPI_SUCCESS;
}

extern "C" int PMPI_Test_cancelled(const MPI_Status* status, int* flag) {
  if (!is_status(status) || flag == nullptr) return MPI_ERR_ARG;
  *flag = abi::read_status(*status).cancelled;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_c2f(const MPI_Status* c_status, MPI_Fint* f_status) {
  return copy_status(c_status, f_status);
}

extern "C" int PMPI_Status_f2c(const MPI_Fint* f_status, MPI_Status* c_status) {
  return copy_status(f_status, c_status);
}

extern "C" int PMPI_Status_c2f08(const MPI_Status* c_status, MPI_F08_status* f08_status) {
  return copy_status(c_status, f08_status);
}

extern "C" int PMPI_Status_f082c(const MPI_F08_status* f08_status, MPI_Status* c_status) {
  return copy_status(f08_status, c_status);
}

extern "C" int PMPI_Status_f2f08(const MPI_Fint* f_status, MPI_F08_status* f08_status) {
  return copy_status(f_status, f08_status);
}

extern "C" int PMPI_Status_f082f(const MPI_F08_status* f08_status, MPI_Fint* f_status) {
  return copy_status(f08_status, f_status);
}

// The names that a tool may interpose (MPI 15.2).
// clang-format off
extern "C" decltype(PMPI_Status_get_source) MPI_Status_get_source
    __attribute__((weak, alias("PMPI_Status_get_source")));
extern "C" decltype(PMPI_Status_get_tag) MPI_Status_get_tag
    __attribute__((weak, alias("PMPI_Status_get_tag")));
extern "C" decltype(PMPI_Status_get_error) MPI_Status_get_error
    __attribute__((weak, alias("PMPI_Status_get_error")));
extern "C" decltype(PMPI_Status_set_source) MPI_Status_set_source
    __attribute__((weak, alias("PMPI_Status_set_source")));
extern "C" decltype(PMPI_Status_set_tag) MPI_Status_set_tag
    __attribute__((weak, alias("PMPI_Status_set_tag")));
extern "C" decltype(PMPI_Status_set_error) MPI_Status_set_error
    __attribute__((weak, alias("PMPI_Status_set_error")));
extern "C" decltype(PMPI_Status_set_cancelled) MPI_Status_set_cancelled
    __attribute__((weak, alias("PMPI_Status_set_cancelled")));
extern "C" decltype(PMPI_Test_cancelled) MPI_Test_cancelled
    __attribute__((weak, alias("PMPI_Test_cancelled")));
extern "C" decltype(PMPI_Status_c2f) MPI_Status_c2f
    __attribute__((weak, alias("PMPI_Status_c2f")));
extern "C" decltype(PMPI_Status_f2c) MPI_Status_f2c
    __attribute__((weak, alias("PMPI_Status_f2c")));
extern "C" decltype(PMPI_Status_c2f08) MPI_Status_c2f08
    __attribute__((weak, alias("PMPI_Status_c2f08")));
extern "C" decltype(PMPI_Status_f082c) MPI_Status_f082c
    __attribute__((weak, alias("PMPI_Status_f082c")));
extern "C" decltype(PMPI_Status_f2f08) MPI_Status_f2f08
    __attribute__((weak, alias("PMPI_Status_f2f08")));
extern "C" decltype(PMPI_Status_f082f) MPI_Status_f082f
    __attribute__((weak, alias("PMPI_Status_f082f")));
// clang-format on
