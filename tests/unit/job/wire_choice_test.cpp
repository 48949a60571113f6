// Whose child a program is, for every kind of environment that launchers leave, their leftovers included.
#include "job/wire/choice.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "job/wire/lineage.hpp"

namespace tasuki::wire {
namespace {

using Variables = std::map<std::string, std::string>;
Variables environment;

char* look_up(const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? nullptr : found->second.data();
}

Variables with(Variables variables, const Variables& more) {
  variables.insert(more.begin(), more.end());
  return variables;
}

const Variables kHydra{{"PMI_FD", "9"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}};
const Variables kPort{{"PMI_PORT", "node1:4242"}, {"PMI_ID", "0"}};
const Variables kPmix{
    {"PMIX_NAMESPACE", "job@1"}, {"PMIX_RANK", "0"}, {"PMIX_SERVER_URI21", "job@0.0;tcp4://127.0.0.1:1"}};
const Variables kMpirun = with(kPmix, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
const Variables kSrun{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_JOB_ID", "7"}};
const Variables kOwn{{"TASUKI_JOB_ID", "ab"}, {"TASUKI_JOB_FD", "5"}};

struct Case {
  const char* what;
  Variables variables;
  WireFacts facts;  // but for `get`
  Joining joining;
};

constexpr Lineage kTaken{.taken = true, .launcher = 0, .steps = 0};
constexpr WireFacts kClosed{};
constexpr WireFacts kOpen{.pmi_fd_is_open = true};

const Case kCases[] = {
    {"a plain environment", {}, kClosed, Joining::kAlone},
    {"an allocation of Slurm", {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "8"}}, kClosed, Joining::kAlone},
    {"our mpiexec", kOwn, kClosed, Joining::kOwnJob},
    {"Hydra", kHydra, kOpen, Joining::kPmiFd},
    {"Hydra, one rank", {{"PMI_FD", "9"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, kOpen, Joining::kPmiFd},
    {"Hydra, behind a script that closes", kHydra, {.pmi_fd_holder = 77}, Joining::kPmiFd},
    {"Hydra, and nobody has the socket", kHydra, kClosed, Joining::kRefused},
    {"one rank, and nobody has the socket",
     {{"PMI_FD", "9"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}},
     kClosed,
     Joining::kAlone},
    {"started by a rank of Hydra's", kHydra, {.pmi_fd = kTaken}, Joining::kAlone},
    {"the same, and the socket is open by chance",
     kHydra,
     {.pmi_fd_is_open = true, .pmi_fd = kTaken},
     Joining::kAlone},
    {"Hydra by a port", kPort, kClosed, Joining::kPmiPort},
    {"started by a rank that came by a port", kPort, {.pmi_port = kTaken}, Joining::kAlone},
    {"mpirun", kMpirun, kClosed, Joining::kPmix},
    {"started by a rank of mpirun's", kMpirun, {.pmix = kTaken}, Joining::kAlone},
    {"PMIx without a server", {{"PMIX_NAMESPACE", "job@1"}, {"PMIX_RANK", "0"}}, kClosed, Joining::kRefused},
    {"mpirun inside of Hydra", with(kHydra, kMpirun), kClosed, Joining::kPmix},
    {"mpirun inside of a rank of Hydra's", with(kHydra, kMpirun), {.pmi_fd = kTaken}, Joining::kPmix},
    {"Hydra inside of mpirun", with(kHydra, kMpirun), kOpen, Joining::kPmiFd},
    {"Hydra inside of a rank of mpirun's",
     with(kHydra, kMpirun),
     {.pmi_fd_is_open = true, .pmix = kTaken},
     Joining::kPmiFd},
    {"Hydra by a port inside of mpirun",
     with(kPort, kMpirun),
     {.pmi_port = {.launcher = 5, .steps = 1}, .pmix = {.launcher = 4, .steps = 3}},
     Joining::kPmiPort},
    {"mpirun inside of Hydra by a port",
     with(kPort, kMpirun),
     {.pmi_port = {.launcher = 4, .steps = 3}, .pmix = {.launcher = 5, .steps = 1}},
     Joining::kPmix},
    {"mpirun behind a script inside of Hydra",
     with(kHydra, kMpirun),
     {.pmi_fd_holder = 7, .pmi_fd = {.launcher = 4, .steps = 3}, .pmix = {.launcher = 5, .steps = 1}},
     Joining::kPmix},
    {"Hydra by a port inside of Hydra",
     with(kHydra, kPort),
     {.pmi_fd_is_open = true, .pmi_fd = {.launcher = 4, .steps = 5}, .pmi_port = {.launcher = 5, .steps = 1}},
     Joining::kPmiPort},
    {"Hydra inside of Hydra by a port",
     with(kHydra, kPort),
     {.pmi_fd_is_open = true, .pmi_fd = {.launcher = 5, .steps = 1}, .pmi_port = {.launcher = 4, .steps = 4}},
     Joining::kPmiFd},
    {"a singleton inside of both",
     with(kHydra, kMpirun),
     {.pmi_fd = kTaken, .pmix = kTaken},
     Joining::kAlone},
    {"Hydra inside of a job of ours", with(kHydra, kOwn), kOpen, Joining::kPmiFd},
    {"mpirun inside of a job of ours", with(kMpirun, kOwn), kClosed, Joining::kPmix},
    {"a singleton inside of Hydra inside of ours", with(kHydra, kOwn), {.pmi_fd = kTaken}, Joining::kAlone},
    {"srun --mpi=pmi2", with(kHydra, kSrun), kOpen, Joining::kPmiFd},
    {"srun --mpi=pmix", with(kPmix, kSrun), kClosed, Joining::kPmix},
    {"srun --mpi=none", kSrun, kClosed, Joining::kRefused},
    {"srun of one task", {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}, kClosed, Joining::kAlone},
    {"started by a rank of srun --mpi=pmi2", with(kHydra, kSrun), {.pmi_fd = kTaken}, Joining::kAlone},
    {"Flux", with(kHydra, {{"FLUX_JOB_SIZE", "2"}, {"FLUX_TASK_RANK", "1"}}), kOpen, Joining::kPmiFd},
    {"Flux without PMI", {{"FLUX_JOB_SIZE", "2"}, {"FLUX_TASK_RANK", "1"}}, kClosed, Joining::kRefused},
    {"PALS", {{"PALS_RANKID", "0"}}, kClosed, Joining::kRefused},
    {"asked to be alone", with(kHydra, {{"TASUKI_SINGLETON", "1"}}), kOpen, Joining::kAlone},
    {"asked not to be alone", with(kHydra, {{"TASUKI_SINGLETON", "no"}}), kOpen, Joining::kPmiFd},
};

WireChoice choose(const Variables& variables, WireFacts facts) {
  environment = variables;
  facts.get = look_up;
  return choose_wire(facts);
}

TEST(WireChoice, EveryKindOfEnvironment) {
  for (const Case& one : kCases) {
    const WireChoice choice = choose(one.variables, one.facts);
    EXPECT_EQ(joining_text(choice.joining), std::string(joining_text(one.joining))) << one.what;
    EXPECT_FALSE(choice.reason.empty()) << one.what;
  }
}

TEST(WireChoice, TasksOfANodeOfSlurm) {
  EXPECT_EQ(local_tasks("3", 0), 3);
  EXPECT_EQ(local_tasks("4(x2),3", 1), 4);
  EXPECT_EQ(local_tasks("4(x2),3", 2), 3);
  EXPECT_EQ(local_tasks("4(x2),3", 3), -1);
  for (const char* text : {"", "x", "0", "2(x0)", "-1"}) EXPECT_EQ(local_tasks(text, 0), -1) << text;
}

TEST(WireChoice, SaysWhatWasFoundAndWhatToType) {
  EXPECT_EQ(choose(kSrun, kClosed).reason,
            "srun started this program as SLURM_PROCID=1 of SLURM_STEP_NUM_TASKS=4 without a way to find the "
            "others (PMI or PMIx); type srun --mpi=pmi2 (TASUKI_SINGLETON=1 makes each process a job of its "
            "own)");
  EXPECT_NE(choose(kHydra, kClosed).reason.find("PMI_FD=9 (PMI_RANK=1, PMI_SIZE=2) is no socket"),
            std::string::npos);
  EXPECT_NE(choose({{"PALS_RANKID", "3"}}, kClosed).reason.find("PALS, the launcher of HPE (PALS_RANKID=3)"),
            std::string::npos);
  EXPECT_EQ(choose(kHydra, kOpen).reason, "PMI_FD=9, PMI_RANK=1, PMI_SIZE=2, and the descriptor is a socket");
}

}  // namespace
}  // namespace tasuki::wire
