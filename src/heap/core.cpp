// The handler, what it does, and the functions that hide it.
//
// The handler may run at any point of any thread, also inside the allocator: it makes system calls alone and
// takes no lock. `owner` lets one thread do the work while others that were hit meanwhile wait.
#include "heap/core.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <iterator>

#include "heap/state.hpp"

// What glibc's own callers of sigaction() call.
extern "C" int __sigaction(int signal, const struct sigaction* action, struct sigaction* before);

namespace tasuki::heap {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT,
                            SIGSYS,  SIGTRAP, SIGQUIT, SIGXCPU, SIGXFSZ};
constexpr int kRangesMax = 2;
/// Each extent splits mappings, of which a process has 65,530: smaller gaps are let in with their neighbours.
constexpr std::size_t kExtentsMax = 10'000;
constexpr std::uint64_t kSmallestGapBytes = 64 * 1024;
constexpr int kWaitsMax = 10'000;  // of a millisecond

struct Watch {
  SharedRange ranges[kRangesMax];
  int ranges_size = 0;
  std::atomic<int> owner{0};  // whose memory was let in: 0: none; -pid: it is being done; pid: it is done
};

constinit Watch watch;

struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // 0: there is none
};

/// The next extent of the file that begins in [at, limit), in one piece with those that follow it after less
/// than `gap_bytes`.
Extent next_extent(std::uint64_t at, std::uint64_t limit, std::uint64_t gap_bytes) {
  Extent found;
  while (at < limit) {
    const off_t data = lseek(state.fd, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 || static_cast<std::uint64_t>(data) >= limit) break;
    if (found.end != 0 && static_cast<std::uint64_t>(data) - found.end >= gap_bytes) break;
    const off_t hole = lseek(state.fd, data, SEEK_HOLE);
    if (hole < 0) break;
    if (found.end == 0) found.begin = static_cast<std::uint64_t>(data);
    at = found.end = std::min(static_cast<std::uint64_t>(hole), limit);
  }
  return found;
}

/// Calls `visit(extent)` for each, up to kExtentsMax + 1 of them, and returns how many there were.
template <class Visit>
std::size_t each_extent(const SharedRange& range, std::uint64_t gap_bytes, Visit&& visit) {
  const std::uint64_t limit = range.offset + range.bytes;
  std::size_t count = 0;
  for (std::uint64_t at = range.offset; count <= kExtentsMax; ++count) {
    const Extent extent = next_extent(at, limit, gap_bytes);
    if (extent.end == 0) break;
    visit(extent);
    at = extent.end;
  }
  return count;
}

void let_in(const SharedRange& range) {
  std::uint64_t gap_bytes = 0;
  while (each_extent(range, gap_bytes, [](const Extent&) {}) > kExtentsMax) {
    gap_bytes = gap_bytes == 0 ? kSmallestGapBytes : 2 * gap_bytes;
  }
  void* all = reinterpret_cast<void*>(range.begin);
  syscall(SYS_madvise, all, range.bytes, MADV_DONTDUMP);
  each_extent(range, gap_bytes, [&range](const Extent& extent) {
    void* place = reinterpret_cast<void*>(range.begin + (extent.begin - range.offset));
    syscall(SYS_madvise, place, extent.end - extent.begin, MADV_DODUMP);
  });
}

void let_all_in() {
  const int pid = getpid();
  int expected = watch.owner.load(std::memory_order_acquire);
  if (expected != -pid && watch.owner.compare_exchange_strong(expected, -pid)) {
    if (state.shared && state.has_file()) {
      for (int i = 0; i < watch.ranges_size; ++i) let_in(watch.ranges[i]);
    }
    watch.owner.store(pid, std::memory_order_release);
    return;
  }
  const timespec nap = {0, 1'000'000};
  for (int i = 0; i < kWaitsMax && watch.owner.load(std::memory_order_acquire) == -pid; ++i) {
    nanosleep(&nap, nullptr);
  }
}

/// Whether a dump would be written: a file within the limit, or a program that the kernel hands it to.
bool is_dumped() {
  rlimit limit;
  if (getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_cur != 0) return true;
  char first = '|';
  const int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  if (read(fd, &first, 1) != 1) first = '\0';
  close(fd);
  return first == '|';
}

void before_core(int signal, siginfo_t* info, void*) {
  const int error = errno;
  if (is_dumped()) let_all_in();
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  __sigaction(signal, &action, nullptr);
  // On return, and with all that is known of its cause. A fault would happen again by itself, others not.
  syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), signal, info);
  errno = error;
}

bool is_watched(int signal) {
  return watch.ranges_size > 0 &&
         std::find(std::begin(kSignals), std::end(kSignals), signal) != std::end(kSignals);
}

struct sigaction own_action() {
  struct sigaction action {};
  action.sa_sigaction = before_core;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  return action;
}

bool is_own(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == before_core;
}

/// What the program is to see where our handler stands.
void hide(struct sigaction* action) {
  if (!is_own(*action)) return;
  *action = {};
  action->sa_handler = SIG_DFL;
}

using SetHandler = sighandler_t (*)(int, sighandler_t);

// libc's, which programs call in handlers too: so they are looked up before.
SetHandler next_signal = nullptr;
SetHandler next_sysv_signal = nullptr;

/// The functions of signal()'s kind, of which `next` is libc's.
sighandler_t set_handler(SetHandler next, int signal, sighandler_t handler) {
  if (is_watched(signal) && handler == SIG_DFL) {
    const struct sigaction own = own_action();
    struct sigaction before {};
    if (__sigaction(signal, &own, &before) != 0) return SIG_ERR;
    hide(&before);
    return before.sa_handler;
  }
  const sighandler_t before = next(signal, handler);
  return before == own_action().sa_handler ? SIG_DFL : before;
}

SetHandler found(SetHandler* place, const char* name) {
  if (*place == nullptr) *place = reinterpret_cast<SetHandler>(dlsym(RTLD_NEXT, name));
  return *place;
}

}  // namespace

void look_up_signal_functions() {
  found(&next_signal, "signal");
  found(&next_sysv_signal, "__sysv_signal");
}

void watch_for_cores(const SharedRange& range) {
  if (watch.ranges_size == kRangesMax) return;
  madvise(reinterpret_cast<void*>(range.begin), range.bytes, MADV_DONTDUMP);
  watch.ranges[watch.ranges_size++] = range;
  if (watch.ranges_size > 1) return;
  const struct sigaction own = own_action();
  for (const int signal : kSignals) {
    struct sigaction before {};
    if (__sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    __sigaction(signal, &own, nullptr);
  }
}

}  // namespace tasuki::heap

extern "C" {

/// For debuggers of a live process, before they write a core of it: `call (int)tasuki_heap_for_core()`.
[[gnu::visibility("default")]] int tasuki_heap_for_core() {
  tasuki::heap::let_all_in();
  return 0;
}

[[gnu::visibility("default")]] int sigaction(int signal, const struct sigaction* action,
                                             struct sigaction* before) noexcept {
  using namespace tasuki::heap;
  const struct sigaction own = own_action();
  if (action != nullptr && is_watched(signal) && action->sa_handler == SIG_DFL) action = &own;
  const int result = __sigaction(signal, action, before);
  if (result == 0 && before != nullptr) hide(before);
  return result;
}

[[gnu::visibility("default")]] sighandler_t signal(int number, sighandler_t handler) noexcept {
  using namespace tasuki::heap;
  return set_handler(found(&next_signal, "signal"), number, handler);
}

[[gnu::visibility("default")]] sighandler_t __sysv_signal(int number, sighandler_t handler) noexcept {
  using namespace tasuki::heap;
  return set_handler(found(&next_sysv_signal, "__sysv_signal"), number, handler);
}

}  // extern "C"
