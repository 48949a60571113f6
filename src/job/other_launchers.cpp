// The table of launchers.
#include "job/other_launchers.hpp"

#include <cstdlib>
#include <cstring>

namespace tasuki {
namespace {

/// A launcher shows itself by a rank variable; `size` (null: none tells) holds the number of ranks.
struct LauncherVariables {
  const char* rank;
  const char* size;
  const char* name;
};

// The most telling first: Slurm and Open MPI also set the variables of the PMI they offer.
constexpr LauncherVariables kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "Slurm's srun"},
    {"PMI_RANK", "PMI_SIZE", "a PMI launcher (the mpiexec of MPICH, Intel MPI or a relative)"},
    {"PMIX_RANK", nullptr, "a PMIx launcher (PRRTE's prterun or a relative)"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "Flux"},
    {"MPIRUN_RANK", "MPIRUN_NPROCS", "MVAPICH's mpirun_rsh"},
    {"PALS_RANKID", nullptr, "PALS, the launcher of HPE"},
};

constexpr const char* kPrefixes[] = {
    "PMI_",          "PMI2_",      "PMIX_",           "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE",
    "HYDI_",         "HYDRA_",     "MPI_LOCALNRANKS", "MPI_LOCALRANKID",  "SLURM_PROCID",
    "SLURM_LOCALID", "SLURM_STEP", "SLURM_GTIDS",     "SLURM_TASK_PID",   "PALS_RANKID",
    "PALS_LOCAL",    "FLUX_TASK_", "FLUX_JOB_SIZE",   "MPIRUN_RANK",      "MPIRUN_NPROCS",
};

/// The size that the launcher tells, 0 when it tells none.
long told_size(const LauncherVariables& launcher, GetVariable get) {
  const char* text = launcher.size != nullptr ? get(launcher.size) : nullptr;
  return text != nullptr ? std::strtol(text, nullptr, 10) : 0;
}

}  // namespace

std::string other_launcher(GetVariable get) {
  bool single = false;
  for (const LauncherVariables& launcher : kLaunchers) {
    const char* rank = get(launcher.rank);
    if (rank == nullptr) continue;
    const long size = told_size(launcher, get);
    if (size == 1) single = true;
    // Without a size of its own (PMIx) a launcher counts unless another variable told that there is one rank.
    const bool many = launcher.size != nullptr ? size > 1 : !single;
    if (!many) continue;
    std::string text = std::string(launcher.name) + " (" + launcher.rank + "=" + rank;
    if (size > 1) text += std::string(", ") + launcher.size + "=" + get(launcher.size);
    return text + ")";
  }
  return {};
}

bool is_variable_of_other_launcher(const char* name) {
  for (const char* prefix : kPrefixes) {
    if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) return true;
  }
  return false;
}

}  // namespace tasuki
