// Processes that ranks' programs started and that are in no rank's process group any more: those that made a
// session or group of their own (daemons, setsid, nohup'ed helpers of scripts). They end with the job, too.
//
// mpiexec adopts them when they lose their parent, so it finds them as children of its own. Where mpiexec is
// dead itself it cannot adopt them: then the guard finds them by a variable of their environment.
#pragma once

#include <string>
#include <vector>

namespace tasuki::launch {

/// From now on descendants of this process that lose their parent become its children.
void adopt_orphans();

/// The children of this process, zombies included; empty where the kernel does not say.
std::vector<int> children();
/// Those of another process of this user.
std::vector<int> children_of(int pid);

/// Whether the environment of the process, as its program found it, has `assignment` ("NAME=value").
bool has_mark(int pid, const std::string& assignment);

/// Whether an mpiexec started the process for itself: a guard, a reader of source lines, what starts ranks.
bool is_helper(int pid);

/// The processes of this user that live, other than the caller and helpers, whose environment has
/// `assignment` ("NAME=value").
std::vector<int> processes_with(const std::string& assignment);

/// The name of a guard's process, by which is_helper() knows it.
inline constexpr const char* kGuardName = "tasuki-guard";
/// That of the helper that starts ranks (rank_session.hpp).
inline constexpr const char* kSessionName = "tasuki-session";

}  // namespace tasuki::launch
