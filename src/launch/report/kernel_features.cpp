// Each feature is tried as the library tries it.
#include "launch/report/kernel_features.hpp"

#include <linux/io_uring.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/system/memory_file.hpp"
#include "heap/choice/huge_file.hpp"

namespace tasuki::launch {
namespace {

/// Closes a descriptor that was to be had. Returns an errno, or 0.
int error_of_descriptor(long fd) {
  if (fd < 0) return errno;
  close(static_cast<int>(fd));
  return 0;
}

int try_io_uring() {
  io_uring_params parameters{};
  return error_of_descriptor(syscall(SYS_io_uring_setup, 4, &parameters));
}

int try_membarrier() {
  const long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  if (known < 0) return errno;
  constexpr long kNeeded = MEMBARRIER_CMD_GLOBAL_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED;
  return (known & kNeeded) == kNeeded ? 0 : EINVAL;
}

int try_memfd() {
  return error_of_descriptor(make_memfd("tasuki-trial"));
}

int try_process_vm() {
  char from = 1;
  char to = 0;
  const iovec here{&to, 1};
  const iovec there{&from, 1};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 ? 0 : errno;
}

int try_pidfd() {
  return error_of_descriptor(syscall(SYS_pidfd_open, getpid(), 0));
}

int try_binding() {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return errno;
  return sched_setaffinity(0, sizeof processors, &processors) == 0 ? 0 : errno;
}

int try_huge_file() {
  errno = EPERM;
  return error_of_descriptor(heap::make_huge_file("tasuki-trial"));
}

struct Trial {
  const char* name;
  int (*errno_of)();  // 0: it is there
  const char* without;
};

constexpr Trial kTrials[] = {
    {"io_uring", try_io_uring,
     "Files are read and written by preadv and pwritev, in the background by a thread; a rank that waits for "
     "memory and for a network has a helper thread."},
    {"membarrier", try_membarrier,
     "Short messages are published with a fence each, a thread's lock always takes a mutex, and accumulates "
     "are combined under locks."},
    {"memfd_create", try_memfd,
     "What ranks share lies in /dev/shm, in files without names; their heaps are private."},
    {"process_vm_readv", try_process_vm,
     "Messages from private memory go through buffers, and files that lie in memory are written by pwritev."},
    {"pidfd_open", try_pidfd,
     "Where other launchers start the ranks, a rank's end is told by its launcher alone, and a connection "
     "that was closed on the way cannot be had again."},
    {"sched_setaffinity", try_binding, "Ranks are bound to no processors."},
    {"mounts of a process's own", try_huge_file,
     "Symmetric heaps have huge pages only where shmem_enabled permits it."},
};

}  // namespace

std::vector<KernelFeature> look_for_kernel_features() {
  std::vector<KernelFeature> found;
  for (const Trial& trial : kTrials) {
    const int error = trial.errno_of();
    found.push_back({trial.name, error == 0 ? "" : std::strerror(error), trial.without});
  }
  return found;
}

}  // namespace tasuki::launch
