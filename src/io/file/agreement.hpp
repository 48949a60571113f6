// How the ranks of a file agree on errors and arguments, and how errors of the system become MPI's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "io/course/course.hpp"
#include "io/course/task.hpp"
#include "object/comm.hpp"

namespace tasuki {

/// The class of an errno that a call on files met (MPI 14.7).
int class_of_system_error(int error);

/// Raises it: "cannot `doing` \"name\": the system's reason".
Code fail_system(Process& process, int error, const char* doing, const std::string& name);

/// One rank's share in an agreement: how its part went, and two values.
struct Ballot {
  Code code = kSuccess;
  std::int32_t mode = 0;  // of few values: an access mode, whence
  std::int64_t value = 0;
};

/// Collective on an intracommunicator; returns once all ranks have come. If a rank failed, all get the error
/// of the first one that did. `ballots` (or null) gets what all ranks brought.
Code agree(Comm& comm, Code code, std::int64_t value = 0, std::vector<Ballot>* ballots = nullptr);
/// The same on a course.
Task agree(Course& course, Comm& comm, Code code, std::int64_t value, std::vector<Ballot>* ballots);
/// The same with what `mine` has; all ranks must have brought the same mode, the argument `mode_name`: else
/// kErrNotSame.
Code agree_on_mode(Comm& comm, const Ballot& mine, const char* mode_name, std::vector<Ballot>* ballots);

/// The same as agree(), and all ranks must have brought the same value of the argument `name`.
Code agree_on(Comm& comm, Code code, const char* name, std::int64_t value);
/// The error that `ballots` differ in `name`, whose value `value_of` gives; or success.
Code same_for_all(Comm& comm, const std::vector<Ballot>& ballots, const char* name,
                  std::int64_t (*value_of)(const Ballot&));

/// Collective: how it went at rank 0 is how it went for all. Returns once rank 0 has come.
Code follow_first(Comm& comm, Code code);

}  // namespace tasuki
