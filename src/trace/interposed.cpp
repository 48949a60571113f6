// Finds out which ABI the program uses: that of the library whose functions it would call without the trace.
// A program that is linked to a library has it in the global scope, behind this one; mpi4py loads a library
// for itself alone, so dlopen asks for it by name, which finds what is loaded and loads nothing.
#include "trace/interposed.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "trace/abi_library.hpp"
#include "trace/recorder.hpp"

namespace tasuki::trace {
namespace {

constexpr std::size_t kFunctions = sizeof(standard::Functions) / sizeof(void*);

/// Fills in what a library has, each under "P" and its name; false when it has nothing.
void look_up(void* library, const char* prefix, const char* const* names, std::size_t count, void** places) {
  for (std::size_t i = 0; i < count; ++i) {
    char name[128];
    std::snprintf(name, sizeof name, "%s%s", prefix, names[i]);
    void* const found = dlsym(library, name);
    if (found != nullptr) places[i] = found;
  }
}

/// Stands for a function that the library does not have.
int not_there(...) {
  constexpr int kErrOther = 15;  // MPI_ERR_OTHER of the MPICH ABI; the standard ABI's libraries have them all
  return kErrOther;
}

void* as_pointer(int (*function)(...)) {
  void* pointer;
  std::memcpy(&pointer, &function, sizeof pointer);
  return pointer;
}

/// The library that is loaded under `name`, or null.
void* loaded(const char* name) {
  return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

const void* traced(const AbiLibrary& abi, void* library) {
  for (std::size_t i = 0; i < abi.functions + abi.helpers; ++i) abi.real[i] = as_pointer(not_there);
  look_up(library, "P", kFunctionNames, abi.functions, abi.real);
  look_up(library, "P", kHelperNames, abi.helpers, abi.real + abi.functions);
  return abi.traced;
}

/// A library of a third ABI: its own functions, unrecorded.
const void* untraced() {
  static void* own[kFunctions];
  for (void*& function : own) function = as_pointer(not_there);
  look_up(RTLD_NEXT, "", kFunctionNames, kFunctions, own);
  std::fprintf(stderr,
               "tasuki trace: no library of the standard or the MPICH ABI (libmpi_abi.so.1, libmpi.so.12) is "
               "loaded; nothing is recorded\n");
  return own;
}

const void* choose() {
  const AbiLibrary standard_abi = standard_library(), mpich_abi = mpich_library();
  void* const of_standard = loaded("libmpi_abi.so.1");
  void* const of_mpich = loaded("libmpi.so.12");
  if (of_standard != nullptr && of_mpich != nullptr) {
    // Both are loaded: take the one whose functions the global scope finds first.
    void* const next = dlsym(RTLD_NEXT, "MPI_Init");
    return next == dlsym(of_standard, "MPI_Init") ? traced(standard_abi, of_standard)
                                                  : traced(mpich_abi, of_mpich);
  }
  if (of_standard != nullptr) return traced(standard_abi, of_standard);
  if (of_mpich != nullptr) return traced(mpich_abi, of_mpich);
  return untraced();
}

std::atomic<const void*> chosen = nullptr;

/// Writes what was recorded, also where a process ends without MPI_Finalize.
struct AtEnd {
  ~AtEnd() {
    if (chosen.load() != nullptr) Recorder::get().flush();
  }
} at_end;

}  // namespace

const standard::Functions& functions() {
  const void* table = chosen.load(std::memory_order_acquire);
  if (table == nullptr) {
    static const void* const first = choose();
    table = first;
    chosen.store(table, std::memory_order_release);
  }
  return *static_cast<const standard::Functions*>(table);
}

}  // namespace tasuki::trace
