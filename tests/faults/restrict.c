/* restrict [ENOSYS] NAME… -- program arguments…: runs a program that may not do what it could.
 *
 * NAME is a row of kCalls below: these system calls fail with EPERM, as container runtimes have it (seccomp),
 * or behind ENOSYS as a kernel has it that does not know them. Or it is one of
 *   ptrace   without the capability that lets root look into every process
 *   thp      no transparent huge pages for the program
 *   5.10     what that kernel does not know of calls that it has: EINVAL
 * Compiled as a shared library with -DUNDUMPABLE it is for LD_PRELOAD instead: the process that loads it
 * cannot be looked into by others of its user (/proc/PID/fd, ptrace), as programs that changed their user. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef UNDUMPABLE

__attribute__((constructor)) static void close_the_door(void) {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

#else

#define CALLS_MAX 6

static const struct {
  const char* name;
  int calls[CALLS_MAX]; /* up to the first 0 */
} kCalls[] = {
    {"cma", {SYS_process_vm_readv, SYS_process_vm_writev}},
    {"fd", {SYS_pidfd_getfd, SYS_process_madvise}},
    {"uring", {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register}},
    {"membarrier", {SYS_membarrier}},
    {"memfd", {SYS_memfd_create}},
    {"pidfd", {SYS_pidfd_open, SYS_pidfd_getfd, SYS_pidfd_send_signal}},
    {"random", {SYS_getrandom}},
    {"affinity", {SYS_sched_setaffinity}},
    {"fallocate", {SYS_fallocate}},
    {"namespaces", {SYS_mount, SYS_unshare}},
    {"policy", {SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_move_pages}},
    {"preadv2", {SYS_preadv2, SYS_pwritev2}},
};

static int apply(struct sock_filter* filter, unsigned size) {
  const struct sock_fprog program = {(unsigned short)size, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int forbid(const int* calls, int error) {
  struct sock_filter filter[2 + 2 * CALLS_MAX] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
  };
  unsigned size = 1;
  for (unsigned i = 0; i < CALLS_MAX && calls[i] != 0; ++i) {
    filter[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
    filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
  }
  filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return apply(filter, size);
}

#define WORD(what) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, what))

/* MADV_POPULATE_WRITE is of 5.14, MFD_NOEXEC_SEAL of 6.3; names of both are younger than some headers. */
static int be_kernel_5_10(void) {
  enum { kPopulateWrite = 23, kNoExecuteSeal = 8 };
  struct sock_filter filter[] = {
      WORD(nr),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 2),
      WORD(args[2]),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kPopulateWrite, 4, 3),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 2),
      WORD(args[1]),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNoExecuteSeal, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
  };
  return apply(filter, sizeof filter / sizeof *filter);
}

static int restrict_one(const char* name, int error) {
  if (strcmp(name, "ptrace") == 0) return geteuid() == 0 ? prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE) : 0;
  if (strcmp(name, "thp") == 0) return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  if (strcmp(name, "5.10") == 0) return be_kernel_5_10();
  for (unsigned i = 0; i < sizeof kCalls / sizeof *kCalls; ++i) {
    if (strcmp(name, kCalls[i].name) == 0) return forbid(kCalls[i].calls, error);
  }
  errno = EINVAL;
  return -1;
}

int main(int argc, char** argv) {
  int error = EPERM;
  int at = 1;
  for (; at < argc && strcmp(argv[at], "--") != 0; ++at) {
    if (strcmp(argv[at], "ENOSYS") == 0) {
      error = ENOSYS;
    } else if (restrict_one(argv[at], error) != 0) {
      return perror(argv[at]), 125;
    }
  }
  if (at + 1 < argc) execvp(argv[at + 1], argv + at + 1);
  perror("restrict");
  return 126;
}

#endif
