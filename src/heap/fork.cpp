// The three handlers, and how parent and child wait for each other.
//
// The parent waits at a pipe: it ends, whatever happens to the child. The child writes kBegun and kDone; an
// end without kDone or kRefused is a child that died, without kBegun a fork that failed. Where there are no
// descriptors left for a pipe, a word of shared memory has to do.
#include "heap/fork.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "heap/allocate.hpp"
#include "heap/copy.hpp"
#include "heap/gate.hpp"
#include "heap/state.hpp"

namespace tasuki::heap {
namespace {

constexpr char kBegun = 'b';
constexpr char kDone = 'd';
constexpr char kRefused = 'r';
constexpr int kWithoutPipeSecondsMax = 60;
constexpr int kExitStatus = 71;  // EX_OSERR
constexpr int kRangesMax = 2;
constexpr std::size_t kLargeBytes = std::size_t{256} << 20;
constexpr std::size_t kStackBytes = std::size_t{256} << 10;

/// From prepare to the end of both handlers; guarded by `lock`, which the forking thread holds.
struct Fork {
  constexpr Fork() : signals() {}
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  bool watching = false;
  bool under_way = false;  // prepare() did its part
  SharedRange ranges[kRangesMax];
  int ranges_size = 0;
  sigset_t signals;
  int pipe[2] = {-1, -1};
  std::atomic<std::uint32_t>* done = nullptr;  // shared by parent and child; writer: the child
};

constinit Fork forks;

/// A line on standard error, without stdio: any thread may hold its locks.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) {
  char line[300];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0 && write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0) return;
}

bool make_pipe() {
  if (pipe2(forks.pipe, O_CLOEXEC) == 0) return true;
  rlimit limit;
  if (errno == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    rlimit more = limit;
    more.rlim_cur = limit.rlim_max - limit.rlim_cur < 2 ? limit.rlim_max : limit.rlim_cur + 2;
    setrlimit(RLIMIT_NOFILE, &more);
    const bool made = pipe2(forks.pipe, O_CLOEXEC) == 0;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (made) return true;
  }
  forks.pipe[0] = forks.pipe[1] = -1;
  return false;
}

void close_pipe() {
  for (int& end : forks.pipe) {
    if (end >= 0) close(end);
    end = -1;
  }
}

void tell_parent(char what) {
  if (what == kDone) {
    forks.done->store(1, std::memory_order_release);
    syscall(SYS_futex, forks.done, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  if (forks.pipe[1] >= 0 && write(forks.pipe[1], &what, 1) < 0) return;
}

/// Parent: until the child has its copy, or is no more.
void wait_for_child() {
  if (forks.pipe[0] < 0) {
    const timespec second = {1, 0};
    for (int i = 0; i < kWithoutPipeSecondsMax && forks.done->load(std::memory_order_acquire) == 0; ++i) {
      syscall(SYS_futex, forks.done, FUTEX_WAIT, 0, &second, nullptr, 0);
    }
    return;
  }
  close(forks.pipe[1]);
  forks.pipe[1] = -1;
  char last = 0;
  for (char next = 0;;) {
    const ssize_t got = read(forks.pipe[0], &next, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    last = next;
    if (next == kDone) break;
  }
  if (last == kBegun) {
    say("tasuki: fork: a child of process %d ended before it had its copy of the heap (no memory for it?)\n",
        getpid());
  }
}

bool on_shared_stack() {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  for (int i = 0; i < forks.ranges_size; ++i) {
    if (here - forks.ranges[i].begin < forks.ranges[i].bytes) return true;
  }
  return false;
}

void prepare() {
  if (!state.shared || forks.done == nullptr) return;
  sigset_t all;
  sigfillset(&all);
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_mutex_lock(&forks.lock);
  forks.signals = before;
  forks.under_way = true;
  if (on_shared_stack()) {
    say("tasuki: fork: process %d cannot fork on a stack that malloc() gave (set TASUKI_HEAP=private)\n",
        getpid());
    abort();
  }
  close_gate();
  forks.done->store(0, std::memory_order_relaxed);
  make_pipe();
}

void end_fork() {
  close_pipe();
  forks.under_way = false;
  const sigset_t before = forks.signals;
  pthread_mutex_unlock(&forks.lock);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void in_parent() {
  if (!forks.under_way || !gate_record.has_key) return;
  const int error = errno;
  keep_gate_closed();
  wait_for_child();
  open_gate();
  end_fork();
  errno = error;
}

/// Should there be no memory for the copy, the child is to die of it, not its parent or a peer.
/// The old value is put back by restore_badness().
long raise_badness() {
  char text[16] = "";
  const int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, text, sizeof text - 1);
  if (got > 0 && pwrite(fd, "1000", 4, 0) < 0) text[0] = '\0';
  close(fd);
  return std::strtol(text, nullptr, 10);
}

void restore_badness(long badness) {
  char text[16];
  const int length = std::snprintf(text, sizeof text, "%ld", badness);
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, text, static_cast<std::size_t>(length)) < 0) errno = 0;
  close(fd);
}

std::size_t file_bytes(int fd) {
  struct stat file;
  return fd >= 0 && fstat(fd, &file) == 0 ? static_cast<std::size_t>(file.st_blocks) * 512 : 0;
}

/// The child's heap, before it is used.
void copy_heap() {
  const int fd = state.has_file() ? state.fd : -1;
  const bool large = file_bytes(fd) >= kLargeBytes;
  const long badness = large ? raise_badness() : 0;
  for (int i = 0; i < forks.ranges_size; ++i) {
    if (const char* why = make_private(forks.ranges[i], fd)) {
      say("tasuki: fork: child %d ends: it needs a copy of the heap of process %d (%zu MiB), and there is "
          "%s\n",
          getpid(), getppid(), file_bytes(fd) >> 20, why);
      tell_parent(kRefused);
      _exit(kExitStatus);
    }
  }
  if (large) restore_badness(badness);
  if (fd >= 0) close(fd);
  state.forget_sharing();
}

void in_child() {
  if (!forks.under_way || !gate_record.has_key) return;
  tell_parent(kBegun);
  copy_heap();
  tell_parent(kDone);
  reset_gate();
  mend_kept_blocks_after_fork();
  forks.ranges_size = 0;
  close_pipe();
  forks.under_way = false;
  forks.lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_sigmask(SIG_SETMASK, &forks.signals, nullptr);
}

using Handler = void (*)();
using Register = int (*)(Handler, Handler, Handler, void*);

Register next_register() {
  return reinterpret_cast<Register>(dlsym(RTLD_NEXT, "__register_atfork"));
}

}  // namespace

void watch_forks() {
  if (forks.watching) return;
  forks.watching = true;
  // No handle of this library: its handlers outlive its destructors.
  if (Register next = next_register()) next(prepare, in_parent, in_child, nullptr);
}

void copy_at_fork(const SharedRange& range) {
  if (forks.done == nullptr) {
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    forks.done = static_cast<std::atomic<std::uint32_t>*>(page);
  }
  if (forks.ranges_size < kRangesMax) forks.ranges[forks.ranges_size++] = range;
}

}  // namespace tasuki::heap

namespace tasuki::heap {
namespace {

using Fork0 = pid_t (*)();

/// A fork() on a stack that malloc() gave (coroutines have such), done on another one: parent and child would
/// run on the same stack. The thread's own data must lie elsewhere.
struct Detour {
  Fork0 next = nullptr;
  pid_t result = -1;
  int error = 0;
  ucontext_t back;
};

thread_local constinit Detour* detour = nullptr;

void fork_on_other_stack() {
  detour->result = detour->next();
  detour->error = errno;
}

pid_t fork_by_detour(Fork0 next) {
  void* stack =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return -1;
  Detour here;
  here.next = next;
  detour = &here;
  ucontext_t there;
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = kStackBytes;
  there.uc_link = &here.back;
  makecontext(&there, fork_on_other_stack, 0);
  swapcontext(&here.back, &there);
  munmap(stack, kStackBytes);
  errno = here.error;
  return here.result;
}

}  // namespace
}  // namespace tasuki::heap

extern "C" {

[[gnu::visibility("default")]] pid_t fork() noexcept {
  using namespace tasuki::heap;
  const auto next = reinterpret_cast<Fork0>(dlsym(RTLD_NEXT, "fork"));
  if (next == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  return state.shared && on_shared_stack() ? fork_by_detour(next) : next();
}

/// pthread_atfork() of all the program: ours go first.
[[gnu::visibility("default")]] int __register_atfork(void (*before)(), void (*parent)(), void (*child)(),
                                                     void* owner) {
  tasuki::heap::watch_forks();
  tasuki::heap::Register next = tasuki::heap::next_register();
  return next != nullptr ? next(before, parent, child, owner) : ENOMEM;
}

}  // extern "C"
