// The entries that read and write a status: they touch nothing else, so they need no Process.
#include <cstring>

#include "binding/call/call.hpp"

namespace tasuki {
namespace {

/// Null for MPI_STATUS_IGNORE, which is no status.
const void* significant(const void* status) {
  return status == static_cast<const void*>(MPI_STATUS_IGNORE) ? nullptr : status;
}

/// A Fortran status, as an array or as a type, has the C status' members in the C status' order.
template <class To, class From>
int copy_status(Function function, const void* site, const From* from, const char* from_name, To* to,
                const char* to_name) {
  if (const int code = null_argument(function, site, {{significant(from), from_name}, {to, to_name}}))
    return code;
  std::memcpy(to, from, sizeof(MPI_Status));
  return MPI_SUCCESS;
}
static_assert(sizeof(MPI_F08_status) == sizeof(MPI_Status));

}  // namespace
}  // namespace tasuki

using namespace tasuki;

extern "C" int PMPI_Status_get_source(const MPI_Status* status, int* source) {
  if (const int code = null_argument(Function::kStatus_get_source, call_site(__builtin_return_address(0)),
                                     {{significant(status), "status"}, {source, "source"}}))
    return code;
  *source = status->MPI_SOURCE;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_get_tag(const MPI_Status* status, int* tag) {
  if (const int code = null_argument(Function::kStatus_get_tag, call_site(__builtin_return_address(0)),
                                     {{significant(status), "status"}, {tag, "tag"}}))
    return code;
  *tag = status->MPI_TAG;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_get_error(const MPI_Status* status, int* err) {
  if (const int code = null_argument(Function::kStatus_get_error, call_site(__builtin_return_address(0)),
                                     {{significant(status), "status"}, {err, "err"}}))
    return code;
  *err = status->MPI_ERROR;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_set_source(MPI_Status* status, int source) {
  if (const int code = null_argument(Function::kStatus_set_source, call_site(__builtin_return_address(0)),
                                     {{significant(status), "status"}}))
    return code;
  status->MPI_SOURCE = source;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_set_tag(MPI_Status* status, int tag) {
  if (const int code = null_argument(Function::kStatus_set_tag, call_site(__builtin_return_address(0)),
                                     {{significant(status), "status"}}))
    return code;
  status->MPI_TAG = tag;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_set_error(MPI_Status* status, int err) {
  if (const int code = null_argument(Function::kStatus_set_error, call_site(__builtin_return_address(0)),
                                     {{significant(status), "status"}}))
    return code;
  status->MPI_ERROR = err;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_set_cancelled(MPI_Status* status, int flag) {
  if (const int code = null_argument(Function::kStatus_set_cancelled, call_site(__builtin_return_address(0)),
                                     {{significant(status), "status"}}))
    return code;
  Status core = abi::read_status(*status);
  core.cancelled = flag != 0;
  abi::write_status(core, status);
  return MPI_SUCCESS;
}

extern "C" int PMPI_Test_cancelled(const MPI_Status* status, int* flag) {
  if (const int code = null_argument(Function::kTest_cancelled, call_site(__builtin_return_address(0)),
                                     {{significant(status), "status"}, {flag, "flag"}}))
    return code;
  *flag = abi::read_status(*status).cancelled;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Status_c2f(const MPI_Status* c_status, MPI_Fint* f_status) {
  return copy_status(Function::kStatus_c2f, call_site(__builtin_return_address(0)), c_status, "c_status",
                     f_status, "f_status");
}

extern "C" int PMPI_Status_f2c(const MPI_Fint* f_status, MPI_Status* c_status) {
  return copy_status(Function::kStatus_f2c, call_site(__builtin_return_address(0)), f_status, "f_status",
                     c_status, "c_status");
}

extern "C" int PMPI_Status_c2f08(const MPI_Status* c_status, MPI_F08_status* f08_status) {
  return copy_status(Function::kStatus_c2f08, call_site(__builtin_return_address(0)), c_status, "c_status",
                     f08_status, "f08_status");
}

extern "C" int PMPI_Status_f082c(const MPI_F08_status* f08_status, MPI_Status* c_status) {
  return copy_status(Function::kStatus_f082c, call_site(__builtin_return_address(0)), f08_status,
                     "f08_status", c_status, "c_status");
}

extern "C" int PMPI_Status_f2f08(const MPI_Fint* f_status, MPI_F08_status* f08_status) {
  return copy_status(Function::kStatus_f2f08, call_site(__builtin_return_address(0)), f_status, "f_status",
                     f08_status, "f08_status");
}

extern "C" int PMPI_Status_f082f(const MPI_F08_status* f08_status, MPI_Fint* f_status) {
  return copy_status(Function::kStatus_f082f, call_site(__builtin_return_address(0)), f08_status,
                     "f08_status", f_status, "f_status");
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
