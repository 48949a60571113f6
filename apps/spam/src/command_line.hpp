// What the user asks for.
#pragma once

#include <string>
#include <vector>

#include "input.hpp"

namespace spam {

struct Command {
  enum class Kind { kRun, kForces, kNone };

  Kind kind = Kind::kNone;  // kNone: help or a usage error was told, and `status` is the exit status
  int status = 0;
  std::string input;
  std::string output;  // the directory, or the file
  std::string restart;
  std::vector<Override> overrides;
  bool unsafe = false, overwrite = false, quiet = false;
};

/// The same on every rank; where `tells`, help and usage errors are printed.
Command parse_command_line(int argc, char** argv, bool tells);

/// Replaces this process by the Python tools beside the program, if the arguments ask for them. To be called
/// before MPI_Init: they run the program as jobs of their own. Returns if it was none of them; exits with a
/// message if the tools are not there.
void become_tool(char** argv);

}  // namespace spam
