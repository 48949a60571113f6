// What the Fortran libraries (src/fortran/) find wrong with a call before or after C has it: told as errors
// of that call, with its name and the line of the program. Fortran's procedures have the names of C's
// functions.
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "binding/call/call.hpp"
#include "io/file/file.hpp"
#include "job/launcher.hpp"
#include "rma/window.hpp"

namespace tasuki {
namespace {

Function function_named(const char* name) {
  for (int i = 1; i < kFunctions; ++i) {
    if (std::strcmp(function_name(static_cast<Function>(i)), name) == 0) return static_cast<Function>(i);
  }
  return Function::kNone;
}

}  // namespace
}  // namespace tasuki

/// Ends a call of `name` with an error of the class `error_class`, in the error handler of its communicator,
/// window or file: what of them it has not is null. Returns what the handler leaves, as the call would.
extern "C" [[gnu::visibility("default")]] int tasuki_fortran_refuse(const char* name, MPI_Comm comm,
                                                                    MPI_Win win, MPI_File file,
                                                                    int error_class, const char* text) {
  using namespace tasuki;
  Call call(function_named(name), call_site(nullptr));
  Comm* core_comm = nullptr;
  Win* core_win = nullptr;
  File* core_file = nullptr;
  if ((comm != MPI_COMM_NULL && !call.handle<Comm>(comm, "comm", &core_comm)) ||
      (win != MPI_WIN_NULL && !call.handle<Win>(win, "win", &core_win)) ||
      (file != MPI_FILE_NULL && !call.handle<File>(file, "fh", &core_file))) {
    return call.fail();
  }
  call.refuse(error_class_bits(abi::error_to_core(error_class)), "%s", text);
  return call.fail();
}

/// Ends the job: the procedure that this thread called last cannot give its `ierror`.
extern "C" [[gnu::visibility("default")]] void tasuki_fortran_unwritable(const void* address) {
  using namespace tasuki;
  char text[300];
  constexpr const char* kText =
      "ierror lies at %s, which cannot be written; hint: is an argument missing in this call, ierror "
      "perhaps, or is it a "
      "constant? With mpif.h no compiler tells; `use mpi` and `use mpi_f08` do";
  char place[32] = "an impossible address";
  if (address != nullptr)
    std::snprintf(place, sizeof place, "0x%" PRIxPTR, reinterpret_cast<std::uintptr_t>(address));
  std::snprintf(text, sizeof text, kText, place);
  if (binding.process == nullptr) {
    char line[400];
    std::snprintf(line, sizeof line, "%s: %s",
                  binding.world_state == WorldState::kAfter ? "MPI_Finalize, or a later call" : "a call",
                  text);
    die(line);
  }
  Process& process = *binding.process;
  const Function function = function_of(process.line);
  process.line.site.store(reinterpret_cast<std::uintptr_t>(tasuki_fortran_site), std::memory_order_relaxed);
  char line[400];
  std::snprintf(line, sizeof line, "%s: %s", function_name(function), text);
  process.launcher.abort(1, line);
}
