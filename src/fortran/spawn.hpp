// Starting processes from Fortran (MPI 5.0, 11.8): arrays of strings end with a blank one, and what stands in
// them counts at the root alone.
#pragma once

#include <string>
#include <vector>

#include "fortran/arguments.hpp"

namespace tasuki::fortran {
inline std::string trimmed(const char* text, std::size_t length) {
  const char* const end = text + length;
  while (text < end && *text == ' ') ++text;
  std::string result(text, end);
  result.erase(result.find_last_not_of(' ') + 1);
  return result;
}

/// The arguments of a program as C has them: pointers, with a null one at the end.
class Arguments {
 public:
  /// Every `step`th string from `first` on, up to a blank one.
  Arguments(const char* first, std::size_t length, std::size_t step) {
    for (const char* text = first;; text += step * length) {
      words_.push_back(trimmed(text, length));
      if (words_.back().empty()) break;
    }
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) pointers_.push_back(words_[i].data());
    pointers_.push_back(nullptr);
  }
  char** data() { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

inline bool is_root(Fint comm, Fint root) {
  int rank = -1;
  return comm != number(MPI_COMM_NULL) && PMPI_Comm_rank(c_handle<MPI_Comm>(comm), &rank) == MPI_SUCCESS &&
         rank == root;
}

inline int* c_errcodes(Fint* errcodes) {
  return is_errcodes_ignore(errcodes) ? MPI_ERRCODES_IGNORE : errcodes;
}

template <auto kCall>
void mpi_comm_spawn(const char* command, const char* argv, const Fint* maxprocs, const Fint* info,
                    const Fint* root, const Fint* comm, Fint* intercomm, Fint* errcodes, Fint* ierror,
                    std::size_t command_length, std::size_t argv_length) {
  HandleOut<MPI_Comm> made(intercomm);
  if (!is_root(*comm, *root)) {
    give(ierror, kCall(nullptr, MPI_ARGV_NULL, 0, MPI_INFO_NULL, *root, c_handle<MPI_Comm>(*comm), made,
                       c_errcodes(errcodes)));
    return;
  }
  const bool none = is_argv_null(argv);
  Arguments arguments(none ? "" : argv, none ? 0 : argv_length, 1);
  give(ierror,
       kCall(TrimBoth(command, command_length), none ? MPI_ARGV_NULL : arguments.data(), *maxprocs,
             c_handle<MPI_Info>(*info), *root, c_handle<MPI_Comm>(*comm), made, c_errcodes(errcodes)));
}

template <auto kCall>
void mpi_comm_spawn_multiple(const Fint* count, const char* commands, const char* argv, const Fint* maxprocs,
                             const Fint* infos, const Fint* root, const Fint* comm, Fint* intercomm,
                             Fint* errcodes, Fint* ierror, std::size_t command_length,
                             std::size_t argv_length) {
  HandleOut<MPI_Comm> made(intercomm);
  if (!is_root(*comm, *root) || *count < 1) {
    const int here = is_root(*comm, *root) ? *count : 0;
    give(ierror, kCall(here, nullptr, MPI_ARGVS_NULL, nullptr, nullptr, *root, c_handle<MPI_Comm>(*comm),
                       made, c_errcodes(errcodes)));
    return;
  }
  const auto programs = static_cast<std::size_t>(*count);
  const bool none = is_argvs_null(argv);
  std::vector<std::string> names;
  std::vector<Arguments> arguments;
  for (std::size_t i = 0; i < programs; ++i) {
    names.push_back(trimmed(commands + i * command_length, command_length));
    if (!none) arguments.emplace_back(argv + i * argv_length, argv_length, programs);
  }
  std::vector<char*> name_pointers;
  std::vector<char**> argument_pointers;
  for (std::string& name : names) name_pointers.push_back(name.data());
  for (Arguments& one : arguments) argument_pointers.push_back(one.data());
  give(ierror, kCall(*count, name_pointers.data(), none ? MPI_ARGVS_NULL : argument_pointers.data(), maxprocs,
                     HandlesIn<MPI_Info>(infos, *count), *root, c_handle<MPI_Comm>(*comm), made,
                     c_errcodes(errcodes)));
}

}  // namespace tasuki::fortran
