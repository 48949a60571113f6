// Which environments count as a foreign launcher's job of several ranks, and which do not.
#include "job/other_launchers.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tasuki {
namespace {

std::map<std::string, std::string> environment;

char* look_up(const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? nullptr : found->second.data();
}

std::string launcher_of(const std::map<std::string, std::string>& variables) {
  environment = variables;
  return other_launcher(look_up);
}

TEST(Foreign, PlainEnvironmentIsNoLauncher) {
  EXPECT_EQ(launcher_of({}), "");
  EXPECT_EQ(launcher_of({{"PATH", "/bin"}, {"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "8"}}), "");
}

TEST(Foreign, SeveralRanksAreNamedWithTheirVariables) {
  EXPECT_EQ(launcher_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}),
            "a PMI launcher (the mpiexec of MPICH, Intel MPI or a relative) (PMI_RANK=1, PMI_SIZE=4)");
  EXPECT_EQ(launcher_of({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_RANK", "0"}}),
            "Slurm's srun (SLURM_PROCID=0, SLURM_STEP_NUM_TASKS=2)");
  EXPECT_EQ(launcher_of({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "3"}}),
            "Open MPI's mpirun (OMPI_COMM_WORLD_RANK=3, OMPI_COMM_WORLD_SIZE=4)");
}

TEST(Foreign, ASingleRankMayRunAlone) {
  EXPECT_EQ(launcher_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), "");
  EXPECT_EQ(launcher_of({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}}),
            "");
  EXPECT_EQ(launcher_of({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}), "");
}

TEST(Foreign, PmixTellsNoSizeAndCounts) {
  EXPECT_EQ(launcher_of({{"PMIX_RANK", "0"}}),
            "a PMIx launcher (PRRTE's prterun or a relative) (PMIX_RANK=0)");
}

TEST(Foreign, VariablesThatMpiexecKeepsFromItsRanks) {
  for (const char* name :
       {"PMI_RANK", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}) {
    EXPECT_TRUE(is_variable_of_other_launcher(name)) << name;
  }
  for (const char* name : {"SLURM_JOB_ID", "OMP_NUM_THREADS", "PATH", "OMPI_MCA_btl"}) {
    EXPECT_FALSE(is_variable_of_other_launcher(name)) << name;
  }
}

}  // namespace
}  // namespace tasuki
