// A member of another job is known by its endpoint, which comes after those of this job's ranks.
#include "rma/control/dead_members.hpp"

#include <string>

#include "base/process.hpp"
#include "job/launcher.hpp"
#include "link/link.hpp"

namespace tasuki::rma {

void end_if_member_died(const Comm& comm) {
  const Process& process = comm.process;
  if (process.link->endpoints() == process.size) return;
  for (const int endpoint : comm.group->endpoints) {
    if (endpoint < process.size || process.link->presence(endpoint) != Presence::kDied) continue;
    process.launcher.wait_to_be_ended();  // where it is the same one it ends this job
    process.launcher.abort(1, "rank " + std::to_string(process.rank) + " shares a window with rank " +
                                  std::to_string(process.link->name(endpoint).rank) +
                                  " of another job, which has died");
  }
}

}  // namespace tasuki::rma
