// How a program is started on another host: the words of ssh, srun, or what the user names instead. Pure.
#pragma once

#include <string>
#include <vector>

#include "launch/allocation/host_list.hpp"

namespace tasuki::launch {

/// What starts programs on other hosts.
enum class RemoteStart { kSsh, kSlurm, kCommand };

struct RemoteStarter {
  RemoteStart kind = RemoteStart::kSsh;
  std::vector<std::string> command;  // kCommand: the words before the host's name
  std::string prefix;                // of Tasuki on the other hosts; empty: as here
  int fan_out = -1;  // agents that one starts at most, in a tree; 0: mpiexec starts all; -1: unset

  /// The same, and 0 for srun, which has a tree of its own.
  int tree() const {
    constexpr int kDefault = 32;
    return kind == RemoteStart::kSlurm ? 0 : fan_out < 0 ? kDefault : fan_out;
  }

  /// "ssh", "srun" or the command's name, for messages.
  std::string name() const;
};

/// The words that run `program`, with its arguments, on `host`.
std::vector<std::string> command_on_host(const RemoteStarter& starter, const HostSlots& host,
                                         const std::vector<std::string>& program);

/// The words that start this mpiexec's agent on `host`. `own_path`: that of the mpiexec that runs.
std::vector<std::string> agent_command(const RemoteStarter& starter, const HostSlots& host,
                                       const std::string& own_path);

/// What the user may do when the launcher of a host has ended with `status` before the agent came; `said`:
/// its last words.
std::string advice_for(const RemoteStarter& starter, const HostSlots& host, int status,
                       const std::string& own_path);

}  // namespace tasuki::launch
