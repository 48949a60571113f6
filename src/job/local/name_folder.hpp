// The folder of published names (MPI 11.9.4): where it is, and how what the dead leave there goes.
//
// A name is a small file whose first line is the mark of the process that published it; dynamic/names.cpp
// writes and reads the rest. A process takes back its own names; those of one that died are removed by
// the next process that looks for the name, and by mpiexec where a job of its own has failed.
//
// Processes in different PID namespaces may share /tmp; each namespace has a folder of its own, since marks
// mean nothing elsewhere. An empty folder is removed, so a process that writes must be ready to make it
// again.
//
// Thread safety: none needed, the state is the file system's.
#pragma once

#include <string>

namespace tasuki::local {

/// Where this user's names are; it need not exist.
std::string name_folder();

/// Whether it is there, and this user's alone: what another one wrote is not believed.
bool name_folder_is_ours();

/// Makes the folder. Returns false, and one line in `error`, when there can be none that is the user's alone.
bool make_name_folder(const std::string& folder, std::string* error);

/// What tells a process from all others that had or will have its number: "pid start"; empty when it has
/// ended or cannot be looked at.
std::string process_mark(int pid);

/// Whether the process of that mark is there still. One that cannot be looked at counts as there.
bool is_there(const std::string& mark);

/// Removes the names, and their drafts, of processes that have ended, and the folder if nothing is left.
void remove_names_of_the_dead();

/// The same for the folder alone.
void remove_name_folder_if_empty();

}  // namespace tasuki::local
