/* The budget of short messages: once the pools have grown, sending and receiving one makes no allocation,
 * takes no lock and calls the system not once. Messages go to this process itself, so nothing is waited for.
 *
 * Allocations and locks are counted by functions of this program that come before libc's. System calls are
 * counted by the kernel's syscall user dispatch: while `selector` says so, each raises SIGSYS. Exit code 77:
 * the kernel has no such thing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "check.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif

enum { ALLOW = 0, BLOCK = 1 };
static volatile char selector = ALLOW;
static volatile int counting = 0;
static volatile long system_calls = 0, last_call = -1, allocations = 0, locks = 0;

static void on_system_call(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)context;
  selector = ALLOW; /* the handler's return is a system call itself; and one that fails is enough to know */
  ++system_calls;
  last_call = info->si_syscall;
}

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t number, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* malloc(size_t bytes) {
  allocations += counting;
  return __libc_malloc(bytes);
}
void* calloc(size_t number, size_t bytes) {
  allocations += counting;
  return __libc_calloc(number, bytes);
}
void* realloc(void* old, size_t bytes) {
  allocations += counting;
  return __libc_realloc(old, bytes);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static int (*real)(pthread_mutex_t*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
  locks += counting;
  return real(mutex);
}

static char out[1000], in[1000];

static void blocking(int bytes) {
  MPI_Status status;
  MPI_Send(out, bytes, MPI_BYTE, 0, 5, MPI_COMM_SELF);
  MPI_Recv(in, bytes, MPI_BYTE, 0, 5, MPI_COMM_SELF, &status);
}

static void nonblocking(int bytes) {
  MPI_Request requests[16];
  for (int i = 0; i < 8; ++i) MPI_Irecv(in, bytes, MPI_BYTE, 0, i, MPI_COMM_SELF, &requests[i]);
  for (int i = 0; i < 8; ++i) MPI_Isend(out, bytes, MPI_BYTE, 0, i, MPI_COMM_SELF, &requests[8 + i]);
  MPI_Waitall(16, requests, MPI_STATUSES_IGNORE);
}

static void tested(int bytes) {
  MPI_Request request;
  int flag = 0;
  MPI_Irecv(in, bytes, MPI_BYTE, 0, 5, MPI_COMM_SELF, &request);
  MPI_Send(out, bytes, MPI_BYTE, 0, 5, MPI_COMM_SELF);
  while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void measure(const char* name, void (*lap)(int), int bytes) {
  for (int i = 0; i < 300; ++i) lap(bytes);
  system_calls = allocations = locks = 0;
  counting = 1;
  selector = BLOCK;
  for (int i = 0; i < 300; ++i) lap(bytes);
  selector = ALLOW;
  counting = 0;
  CHECK(system_calls == 0, "%s, %d bytes: system call %ld", name, bytes, last_call);
  CHECK(allocations == 0, "%s, %d bytes: %ld allocations", name, bytes, allocations);
  CHECK(locks == 0, "%s, %d bytes: %ld locks", name, bytes, locks);
}

/* That the counters count. */
static void counters_work(void) {
  counting = 1;
  free(malloc(100));
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  selector = BLOCK;
  prctl(PR_GET_NAME, in);
  selector = ALLOW;
  counting = 0;
  CHECK(allocations >= 1 && locks >= 1 && system_calls >= 1, "%ld allocations, %ld locks, %ld system calls",
        allocations, locks, system_calls);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = on_system_call;
  sigaction(SIGSYS, &action, NULL);
  if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector) != 0) {
    fprintf(stderr, "no syscall user dispatch: %s\n", strerror(errno));
    return 77;
  }
  counters_work();
  const int sizes[] = {0, 8, 40, 64, 500, 1000};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    measure("blocking", blocking, sizes[i]);
    measure("nonblocking", nonblocking, sizes[i]);
    measure("tested", tested, sizes[i]);
  }
  MPI_Finalize();
  printf("budget kept\n");
  return 0;
}
