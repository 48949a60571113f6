// What /proc tells of the processes that this one descends from: which of them have the same variables of a
// launcher, and whether one of those is the rank. Nothing is trusted: it only decides between joining,
// running alone, and a message.
#pragma once

#include <string>

#include "job/wire/choice.hpp"

namespace tasuki::wire {

/// The facts of this process and its environment.
WireFacts gather_wire_facts();

/// PMI_FD as a descriptor of this process: its own one, else `holder`'s (see WireFacts). -1 with errno.
int take_pmi_fd(const WireFacts& facts);

/// How many processes that were started by `launcher` are there and have `variable` in their environment; -1:
/// it cannot be told.
int count_started(int launcher, const char* variable);

/// How many tasks SLURM_STEP_TASKS_PER_NODE, "4(x2),3", gives to that node; -1: it does not tell. Pure.
int local_tasks(const std::string& tasks_per_node, int node);

/// The name of the memory that every process has which has joined over a wire.
inline constexpr char kNodeMemoryName[] = "tasuki-node";

}  // namespace tasuki::wire
