// What the programs of a command line bring with them that takes part in every malloc(): mpiexec must know it
// before it preloads the heap, since a sanitizer refuses to start behind another library.
//
// Each word of the command is looked at, because the program may stand behind others (env, timeout, gdb,
// strace …): a word that names a program of this kind of machine is read for the libraries that it needs and
// the symbols that it has; valgrind is known by its name, and what is preloaded by the names of its files.
// What cannot be seen from here (a script's programs, a library's libraries) the heap library sees itself.
//
// A file is not trusted: what in it points outside of it counts as not there. Thread safety: no state.
#pragma once

#include <string>
#include <vector>

#include "heap/choice/rules.hpp"

namespace tasuki::launch {

/// Where a command is started.
struct CommandPlace {
  std::string directory;                // empty: here
  const char* path_variable = nullptr;  // PATH; null: a default
  const char* preload = nullptr;        // LD_PRELOAD, or null
};

/// Adds what `command` brings to `facts`.
void add_program_facts(const std::vector<std::string>& command, const CommandPlace& place,
                       heap::Facts* facts);

/// The same of one file; nothing, when it is no program of this kind of machine.
void add_file_facts(const std::string& path, heap::Facts* facts);

}  // namespace tasuki::launch
