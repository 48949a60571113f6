// Which launcher that is not ours started this program, told from the environment it leaves.
#pragma once

#include <string>

namespace tasuki {

using GetVariable = char* (*)(const char* name);  // std::getenv, or a test's

/// The launcher of a job of several ranks, in words with the variables that show it, or an empty string. A
/// launcher that started a single rank is none: that rank may as well run alone.
std::string other_launcher(GetVariable get);

/// Whether `name` is a variable by which a launcher tells a process its place in a job. mpiexec keeps these
/// from its ranks, whose place is another.
bool is_variable_of_other_launcher(const char* name);

}  // namespace tasuki
