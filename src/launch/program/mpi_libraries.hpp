// Which MPI libraries a program loads, before it is started: ranks of another MPI than ours would run as jobs
// of one rank each, without a word.
//
// The files are found as the dynamic linker finds them: RPATH, LD_LIBRARY_PATH, RUNPATH, the linker's cache,
// the system's folders. What a program opens later (dlopen, a script's programs) is not seen. Thread safety:
// no state.
#pragma once

#include <string>
#include <vector>

namespace tasuki::launch {

/// An MPI library that a program asks for, and that is found.
struct MpiLibrary {
  std::string name;          // what is asked for, such as libmpi.so.40
  std::string path;          // the file that the dynamic linker takes
  bool by_variable = false;  // LD_LIBRARY_PATH leads there
  bool is_tasuki = false;
};

/// Those that `program` and its libraries ask for. `library_path`: LD_LIBRARY_PATH.
std::vector<MpiLibrary> mpi_libraries_of(const std::string& program, const std::string& library_path);

/// Whether an MPI library is linked into the program itself.
bool has_mpi_inside(const std::string& program);

/// What makes a command's programs load the libraries of `folder`, ours, as far as anything does.
struct LibraryPlan {
  bool folder_first = false;         // `folder` goes before what LD_LIBRARY_PATH has
  std::vector<std::string> preload;  // files of `folder`, where other libraries of their names would be taken
  std::string folder_last;           // goes behind: it has the name of MPICH's C++ bindings; or empty
  std::string note;  // which other MPI the programs use all the same, and what to do; or empty
};

/// `programs`: the files that the words of a command name. `library_path`: LD_LIBRARY_PATH, with `folder`
/// last. `fixed`: the command sets that variable itself, so nothing goes before what it has.
LibraryPlan plan_libraries(const std::vector<std::string>& programs, const std::string& folder,
                           const std::string& library_path, bool fixed);

}  // namespace tasuki::launch
