// The entries MPI_Comm_spawn and MPI_Comm_spawn_multiple (MPI 11.8). Most of their arguments, and the lengths
// of their arrays, are significant at the root only. The core checks those, so that all ranks get the error.
#include <vector>

#include "binding/call/arguments.hpp"
#include "binding/call/call.hpp"
#include "dynamic/api.hpp"

namespace tasuki {
namespace {

/// `array` may be MPI_ERRCODES_IGNORE.
void errcodes_from_core(const std::vector<int>& codes, int* array) {
  if (array == nullptr) return;
  for (std::size_t index = 0; index < codes.size(); ++index)
    array[index] = abi::error_from_core(codes[index]);
}

void note_collective(Call& call, Comm* comm, int root) {
  ++comm->collective_calls;
  call.note(&CallLine::comm, comm);
  call.note(&CallLine::peer, root);
}

}  // namespace
}  // namespace tasuki

using namespace tasuki;

extern "C" int PMPI_Comm_spawn(const char* command, char* argv[], int maxprocs, MPI_Info info, int root,
                               MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]) {
  Call call(Function::kComm_spawn, call_site(__builtin_return_address(0)));
  Comm* core_comm = nullptr;
  Comm* core_intercomm = nullptr;
  Info* core_info = nullptr;
  Call::Roles roles;
  if (!call.handle<Comm>(comm, "comm", &core_comm) || !call.root(root, "root", core_comm, &roles) ||
      !call.handle_place(intercomm, "intercomm") ||
      (roles.root_here && !call.handle_or_null<Info>(info, "info", &core_info))) {
    null_out<Comm>(intercomm);
    return call.fail();
  }
  note_collective(call, core_comm, roles.root);
  std::vector<int> codes;
  const Code code = api::comm_spawn(call.process, command, argv, maxprocs, core_info, roles.root, core_comm,
                                    &core_intercomm, &codes);
  errcodes_from_core(codes, array_of_errcodes);
  *intercomm = call.give<Comm>(code == 0 ? core_intercomm : nullptr);
  return call.end(code);
}

extern "C" int PMPI_Comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[],
                                        const int array_of_maxprocs[], const MPI_Info array_of_info[],
                                        int root, MPI_Comm comm, MPI_Comm* intercomm,
                                        int array_of_errcodes[]) {
  Call call(Function::kComm_spawn_multiple, call_site(__builtin_return_address(0)));
  Comm* core_comm = nullptr;
  Comm* core_intercomm = nullptr;
  Call::Roles roles;
  if (!call.handle<Comm>(comm, "comm", &core_comm) || !call.root(root, "root", core_comm, &roles) ||
      !call.handle_place(intercomm, "intercomm") || (roles.root_here && !call.count(count, "count"))) {
    null_out<Comm>(intercomm);
    return call.fail();
  }
  const int length = roles.root_here ? count : 0;
  HandleArray<Info> infos(length);
  if (!call.array(array_of_commands, length, "array_of_commands") ||
      !call.array(array_of_maxprocs, length, "array_of_maxprocs") ||
      !infos.load(call, array_of_info, "array_of_info", true)) {
    null_out<Comm>(intercomm);
    return call.fail();
  }
  note_collective(call, core_comm, roles.root);
  std::vector<int> codes;
  const Code code =
      api::comm_spawn_multiple(call.process, length, array_of_commands, array_of_argv, array_of_maxprocs,
                               infos.data(), roles.root, core_comm, &core_intercomm, &codes);
  errcodes_from_core(codes, array_of_errcodes);
  *intercomm = call.give<Comm>(code == 0 ? core_intercomm : nullptr);
  return call.end(code);
}

// The names that a tool may interpose (MPI 15.2).
extern "C" decltype(PMPI_Comm_spawn) MPI_Comm_spawn __attribute__((weak, alias("PMPI_Comm_spawn")));
extern "C" decltype(PMPI_Comm_spawn_multiple) MPI_Comm_spawn_multiple
    __attribute__((weak, alias("PMPI_Comm_spawn_multiple")));
