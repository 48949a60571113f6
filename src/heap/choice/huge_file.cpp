// The child shares this process's memory and descriptors, and this thread waits until it has ended (as after
// vfork). It runs on a stack of its own and makes system calls only.
#include "heap/choice/huge_file.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace tasuki::heap {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
/// A directory that is there wherever we can do without a name for users: in the child's namespace alone the
/// tmpfs hides what is in it.
constexpr char kMountPoint[] = "/proc";

struct Order {
  const char* name = nullptr;
  bool new_user = false;
  uid_t user = 0;
  gid_t group = 0;
  int fd = -1;  // the answer
};

bool write_file(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const auto length = static_cast<ssize_t>(std::strlen(text));
  const bool written = write(fd, text, static_cast<std::size_t>(length)) == length;
  close(fd);
  return written;
}

/// In a new user namespace: this user is the one it was, or its files would be nobody's.
bool map_user(const Order& order) {
  char line[48];
  std::snprintf(line, sizeof line, "%u %u 1", order.user, order.user);
  if (!write_file("/proc/self/uid_map", line) || !write_file("/proc/self/setgroups", "deny")) return false;
  std::snprintf(line, sizeof line, "%u %u 1", order.group, order.group);
  return write_file("/proc/self/gid_map", line);
}

int run_child(void* argument) {
  auto& order = *static_cast<Order*>(argument);
  if (order.new_user && !map_user(order)) return 1;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 1;
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (mount("tasuki", kMountPoint, "tmpfs", kFlags, "size=0,mode=0700,huge=advise") != 0) return 1;
  char path[128];
  std::snprintf(path, sizeof path, "%s/%s", kMountPoint, order.name);
  order.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (order.fd >= 0) unlink(path);
  return 0;
}

void run_in_namespaces(Order* order, void* stack) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of the program's runs in the child
  const int flags =
      CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWNS | (order->new_user ? CLONE_NEWUSER : 0);
  const pid_t child = clone(run_child, static_cast<std::byte*>(stack) + kStackBytes, flags, order);
  while (child > 0 && waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Whether the first byte of the file, written through memory, brings a whole huge page.
bool touch_takes_huge_page(int fd) {
  const std::size_t room_bytes = 2 * kHugePageBytes;  // a huge page's place is in it
  void* room = mmap(nullptr, room_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(room);
  void* place = reinterpret_cast<void*>((begin + kHugePageBytes - 1) & ~(kHugePageBytes - 1));
  struct stat file {};
  if (mmap(place, kHugePageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == place) {
    madvise(place, kHugePageBytes, MADV_HUGEPAGE);
    *static_cast<volatile char*>(place) = 1;
    fstat(fd, &file);
  }
  munmap(room, room_bytes);
  return static_cast<std::size_t>(file.st_blocks) * 512 >= kHugePageBytes;
}

}  // namespace

int make_huge_file(const char* name) {
  void* stack =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return -1;
  const int error = errno;
  Order order{.name = name, .new_user = false, .user = geteuid(), .group = getegid(), .fd = -1};
  if (order.user == 0) run_in_namespaces(&order, stack);
  if (order.fd < 0) {
    order.new_user = true;
    run_in_namespaces(&order, stack);
  }
  munmap(stack, kStackBytes);
  errno = error;
  return order.fd;
}

bool can_have_huge_file() {
  const int fd = make_huge_file("tasuki-trial");
  if (fd < 0) return false;
  const bool is_huge = ftruncate(fd, kHugePageBytes) == 0 && touch_takes_huge_page(fd);
  close(fd);
  return is_huge;
}

}  // namespace tasuki::heap
