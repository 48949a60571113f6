// The user's calls on the environment that a rank runs in (MPI 9): memory, and the hardware around it.
#pragma once

#include "base/process.hpp"
#include "base/types.hpp"

namespace tasuki {
struct Info;
}  // namespace tasuki

namespace tasuki::api {

/// A new info: the names of node/hardware.hpp and mpi_shared_memory, each "true" where this process is
/// confined to one instance of it, else "false" (MPI 9.1.3).
Code get_hw_resource_info(Process& process, Info** hw_info);

// Memory (MPI 9.2). The hint mpi_minimum_memory_alignment is honoured.
Code alloc_mem(Process& process, Count size, Info* info, void** baseptr);
Code free_mem(Process& process, void* base);

}  // namespace tasuki::api
