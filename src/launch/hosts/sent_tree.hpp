// What is sent to a host that has no Tasuki: the part of this installation that ranks need to run, as a
// compressed archive, and the words that unpack it there, in a folder that goes when the agent ends.
#pragma once

#include <string>
#include <vector>

#include "launch/allocation/start_command.hpp"

namespace tasuki::launch {

/// Packs the installation that `mpiexec`, an absolute path, belongs to, by tar. Returns false and one line in
/// `error`.
bool pack_installation(const std::string& mpiexec, std::string* archive, std::string* error);

/// Whether the exit status of a launcher says that the host has no such program.
bool is_missing_there(int exit_status);

/// The words that start an agent on the host, out of an archive of so many bytes, which comes first on their
/// standard input.
std::vector<std::string> agent_command_of_archive(const RemoteStarter& starter, const HostSlots& host,
                                                  std::size_t archive_bytes);

}  // namespace tasuki::launch
