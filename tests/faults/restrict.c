/* restrict [cma] [fd] [ptrace] [uring] -- program arguments…: runs a program that may not do what it could.
 *
 * cma         process_vm_readv and process_vm_writev fail with EPERM, as container runtimes have it (seccomp)
 * fd          pidfd_getfd and process_madvise too
 * ptrace      without the capability that lets root look into every process
 * uring       io_uring_setup fails with EPERM
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

static int forbid(const int* calls, unsigned count) {
  struct sock_filter filter[16] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
  };
  unsigned size = 1;
  for (unsigned i = 0; i < count; ++i) {
    filter[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
    filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  }
  filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {(unsigned short)size, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char** argv) {
  const int cma[] = {SYS_process_vm_readv, SYS_process_vm_writev};
  const int fd[] = {SYS_pidfd_getfd, SYS_process_madvise};
  const int uring[] = {SYS_io_uring_setup};
  int at = 1;
  for (; at < argc && strcmp(argv[at], "--") != 0; ++at) {
    int failed = 1;
    if (strcmp(argv[at], "cma") == 0) failed = forbid(cma, 2);
    if (strcmp(argv[at], "fd") == 0) failed = forbid(fd, 2);
    if (strcmp(argv[at], "uring") == 0) failed = forbid(uring, 1);
    if (strcmp(argv[at], "ptrace") == 0) failed = geteuid() == 0 ? prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE) : 0;
    if (failed != 0) return perror(argv[at]), 125;
  }
  if (at + 1 < argc) execvp(argv[at + 1], argv + at + 1);
  perror("restrict");
  return 126;
}

#endif
