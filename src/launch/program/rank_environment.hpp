// The environment of a rank: what mpiexec inherited, less what would make the rank part of another launcher's
// job, plus what the command line sets and what the library needs to find its job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heap/choice/rules.hpp"
#include "launch/options/options.hpp"
#include "launch/program/program_facts.hpp"

namespace tasuki::launch {

/// Variables as "NAME=VALUE", each name once.
class RankEnvironment {
 public:
  /// Takes `inherited` (a null-terminated array like environ) as far as `application` passes it on, and adds
  /// what the command line sets: for all, then for this program.
  RankEnvironment(char** inherited, const Options& options, const Application& application);

  void set(const std::string& name, const std::string& value);
  void set_if_absent(const std::string& name, const std::string& value);

  /// Adds a directory at the end of a list such as LD_LIBRARY_PATH.
  void append_path(const std::string& name, const std::string& directory);

  /// Has the dynamic linker load `library` last of what it preloads; a library of that name from elsewhere
  /// (of an mpiexec around this one) is taken out.
  void preload(const std::string& library);

  /// Lets AddressSanitizer start behind what is preloaded, which it otherwise refuses, unless the variable
  /// says what it is to do there.
  void let_sanitizer_start();

  /// The value, or null.
  const char* get(const std::string& name) const;

  /// For execve; valid until the next change.
  std::vector<char*> pointers();

 private:
  std::string* find(const std::string& name);
  std::vector<std::string> entries_;
};

/// What a rank must know of its job; see job/local/job_segment.hpp.
struct JobVariables {
  int fd = -1;
  int pid = 0;
  std::uint64_t job_id = 0;
  int size = 0;
};

/// Adds the variables of the job and of one rank.
void set_job_variables(RankEnvironment& environment, const JobVariables& job, int rank);

/// The MPICH-ABI library of the installation that this mpiexec belongs to, or an empty string: what mpi4py's
/// wheel is to load.
std::string installed_library();

/// Whether the heap of a job's ranks is to be global, and why, as far as it can be known from here. `command`
/// is what they run (empty: not known), `place` where.
heap::Verdict heap_verdict(const char* wish, int ranks, const std::vector<std::string>& command,
                           const CommandPlace& place);

/// The heap library of that installation, or an empty string.
std::string installed_heap();

/// The library of that installation that records calls (--trace), or an empty string.
std::string installed_trace();
/// A command beside mpiexec, or an empty string.
std::string installed_command(const char* name);

/// A program of that installation that is not for users, or an empty string.
std::string installed_program(const char* name);

/// Where a file lies that sets that installation up (etc/tasuki/NAME), whether it is there or not; an empty
/// string where this program does not know its own place.
std::string configuration_path(const char* name);

}  // namespace tasuki::launch
