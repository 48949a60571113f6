// What the ABI says of Fortran (MPI-5.0, 20.3): sizes of types, which are supported, and truth values. The
// entries are legal at any time.
//
// The predefined types have their sizes from the beginning, and keep them: what a Fortran binding says of
// itself has to agree. Truth values differ between compilers, so they are known once a binding has said them.
#include <cstring>
#include <string>

#include "binding/call/arguments.hpp"
#include "binding/call/call.hpp"
#include "datatype/predefined.hpp"
#include "object/api.hpp"

namespace tasuki {
namespace {

struct FortranSide {
  Info* info = nullptr;  // as MPI_Abi_set_fortran_info said; one reference
  bool has_booleans = false;
  int logical_bytes = 0;
  unsigned char logical_true[16] = {};
  unsigned char logical_false[16] = {};
};
FortranSide fortran_side;

struct NamedType {
  const char* key;
  std::uint16_t type;
};
constexpr NamedType kSizes[] = {{"mpi_logical_size", kMpiLogical},
                                {"mpi_integer_size", kMpiInteger},
                                {"mpi_real_size", kMpiReal},
                                {"mpi_double_precision_size", kMpiDoublePrecision}};
/// All of them are.
constexpr const char* kSupported[] = {
    "mpi_logical1_supported",       "mpi_logical2_supported",  "mpi_logical4_supported",
    "mpi_logical8_supported",       "mpi_logical16_supported", "mpi_integer1_supported",
    "mpi_integer2_supported",       "mpi_integer4_supported",  "mpi_integer8_supported",
    "mpi_integer16_supported",      "mpi_real2_supported",     "mpi_real4_supported",
    "mpi_real8_supported",          "mpi_real16_supported",    "mpi_complex4_supported",
    "mpi_complex8_supported",       "mpi_complex16_supported", "mpi_complex32_supported",
    "mpi_double_complex_supported",
};

bool is_logical_size(int bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

std::string size_text(const NamedType& named) {
  return std::to_string(basic_info(named.type)->size);
}

/// What is true of this library's types.
Code make_info(Process& process, Info** info) {
  Code code = api::info_create(process, info);
  for (const NamedType& named : kSizes)
    if (code == 0) code = api::info_set(process, *info, named.key, size_text(named).c_str());
  for (const char* key : kSupported)
    if (code == 0) code = api::info_set(process, *info, key, "true");
  return code;
}

/// Refuses a size that is not ours, and support for what is none of our types.
Code check_info(Process& process, Info* info) {
  for (const NamedType& named : kSizes) {
    std::string value;
    bool given = false;
    if (const Code code = api::info_get_string(process, info, named.key, &value, &given)) return code;
    if (given && value != size_text(named))
      return process.fail(kErrAbi, "%s = \"%s\", expected \"%s\", which that type has in this library",
                          named.key, value.c_str(), size_text(named).c_str());
  }
  for (const char* key : kSupported) {
    std::string value;
    bool given = false;
    if (const Code code = api::info_get_string(process, info, key, &value, &given)) return code;
    if (given && value != "true" && value != "false")
      return process.fail(kErrAbi, "%s = \"%s\", expected \"true\" or \"false\"", key, value.c_str());
  }
  return kSuccess;
}

}  // namespace
}  // namespace tasuki

using namespace tasuki;

extern "C" int PMPI_Abi_get_fortran_info(MPI_Info* info) {
  Call call(Function::kAbi_get_fortran_info, call_site(__builtin_return_address(0)), AnyTime{});
  if (!call.handle_place(info, "info")) return call.fail();
  Info* copy = nullptr;
  const Code code = fortran_side.info != nullptr ? api::info_dup(call.process, fortran_side.info, &copy)
                                                 : make_info(call.process, &copy);
  *info = call.give<Info>(code == 0 ? copy : nullptr);
  return call.end(code);
}

extern "C" int PMPI_Abi_set_fortran_info(MPI_Info info) {
  Call call(Function::kAbi_set_fortran_info, call_site(__builtin_return_address(0)), AnyTime{});
  Info* core_info = nullptr;
  if (!call.handle<Info>(info, "info", &core_info)) return call.fail();
  if (fortran_side.info != nullptr) {
    call.refuse(kErrAbi, "info: the Fortran information was set before, and can be set once only");
    return call.fail();
  }
  if (const Code code = check_info(call.process, core_info)) return call.end(code);
  return call.end(api::info_dup(call.process, core_info, &fortran_side.info));
}

extern "C" int PMPI_Abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false,
                                             int* is_set) {
  if (const int code = null_argument(
          Function::kAbi_get_fortran_booleans, call_site(__builtin_return_address(0)),
          {{logical_true, "logical_true"}, {logical_false, "logical_false"}, {is_set, "is_set"}}))
    return code;
  *is_set = fortran_side.has_booleans && fortran_side.logical_bytes == logical_size;
  if (*is_set) {
    std::memcpy(logical_true, fortran_side.logical_true, static_cast<std::size_t>(logical_size));
    std::memcpy(logical_false, fortran_side.logical_false, static_cast<std::size_t>(logical_size));
  }
  return MPI_SUCCESS;
}

extern "C" int PMPI_Abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) {
  Call call(Function::kAbi_set_fortran_booleans, call_site(__builtin_return_address(0)), AnyTime{});
  if (!call.pointer(logical_true, "logical_true") || !call.pointer(logical_false, "logical_false"))
    return call.fail();
  if (!is_logical_size(logical_size)) {
    call.refuse(kErrArg, "logical_size = %d, expected 1, 2, 4, 8 or 16", logical_size);
    return call.fail();
  }
  if (fortran_side.has_booleans) {
    call.refuse(kErrAbi, "logical_true: Fortran's truth values were set before, and can be set once only");
    return call.fail();
  }
  fortran_side.has_booleans = true;
  fortran_side.logical_bytes = logical_size;
  std::memcpy(fortran_side.logical_true, logical_true, static_cast<std::size_t>(logical_size));
  std::memcpy(fortran_side.logical_false, logical_false, static_cast<std::size_t>(logical_size));
  return MPI_SUCCESS;
}

// The names that a tool may interpose (MPI 15.2).
// clang-format off
extern "C" decltype(PMPI_Abi_get_fortran_info) MPI_Abi_get_fortran_info
    __attribute__((weak, alias("PMPI_Abi_get_fortran_info")));
extern "C" decltype(PMPI_Abi_set_fortran_info) MPI_Abi_set_fortran_info
    __attribute__((weak, alias("PMPI_Abi_set_fortran_info")));
extern "C" decltype(PMPI_Abi_get_fortran_booleans) MPI_Abi_get_fortran_booleans
    __attribute__((weak, alias("PMPI_Abi_get_fortran_booleans")));
extern "C" decltype(PMPI_Abi_set_fortran_booleans) MPI_Abi_set_fortran_booleans
    __attribute__((weak, alias("PMPI_Abi_set_fortran_booleans")));
// clang-format on
