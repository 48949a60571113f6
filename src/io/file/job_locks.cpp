// The owners of range locks in a job on several nodes: see job_locks.hpp.
#include "io/file/job_locks.hpp"

#include "communicator/world.hpp"
#include "io/file/file.hpp"
#include "job/directory.hpp"

namespace tasuki {

void start_job_locks(Process& process) {
  if (process.directory.nodes() > 1)
    process.files->job_locks = std::make_unique<OwnerService>(file_owners_of_world(process));
}

void settle_job_locks(Process& process) {
  if (process.files->job_locks != nullptr) process.files->job_locks->settle();
}

void end_job_locks(Process& process) {
  process.files->job_locks = nullptr;
}

}  // namespace tasuki
