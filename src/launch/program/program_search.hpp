// Finding a program as a shell would, before anything is started.
#pragma once

#include <cstddef>
#include <string>

namespace tasuki::launch {

struct FoundProgram {
  std::string path;  // absolute or relative to the directory in which it is started
  int error = 0;     // errno when there is none to start: ENOENT, EACCES, …
  bool searched_path = false;
};

/// `name` with a slash is taken as it is, relative to `directory` (empty: here); otherwise the directories of
/// `path_variable` (null: a default) are searched.
FoundProgram find_program(const std::string& name, const std::string& directory, const char* path_variable);

/// The file that `name` means there, as seen from here; empty when it is no program.
std::string path_of_program(const std::string& name, const std::string& directory, const char* path_variable);

/// Of a command's words so many may name programs (env, timeout, gdb …); behind them are arguments.
constexpr std::size_t kProgramWordsMax = 64;

/// The exit status of a shell that cannot start a program for the reason `error`: 127 not found, 126 else.
int cannot_run_status(int error);

}  // namespace tasuki::launch
