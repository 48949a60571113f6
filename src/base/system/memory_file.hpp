// A memory file: memory with a descriptor and no name (memfd), which other processes of the same user map.
// Where the system gives no memfd, it is a file in /dev/shm that has lost its name: that one takes no seals,
// and its memory is taken at once, since what lacks there later would be a signal.
//
// They reach it through the descriptor of a process that has it open, under /proc. That path and the file's
// own permissions are closed to other users. Before it is opened, the kind and the name of the file are
// checked, since the process may be gone and its number another's, and opening a file of any kind may have
// effects.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/system/file_size.hpp"
#include "base/system/random_number.hpp"

namespace tasuki {

/// Makes an empty memfd, close-on-exec, that only this user may open. `name` begins with "tasuki-". -1 with
/// errno.
inline int make_memfd(const char* name) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  constexpr unsigned kNoExecuteSeal = 8;  // MFD_NOEXEC_SEAL, younger than the headers we build with
  int fd = memfd_create(name, kFlags | kNoExecuteSeal);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, kFlags);
  if (fd >= 0) fchmod(fd, S_IRUSR | S_IWUSR);  // memfd_create makes it open to all users
  return fd;
}

inline constexpr char kSharedFolder[] = "/dev/shm/";

/// Makes an empty file in /dev/shm, as make_memfd() does. -1 with errno.
inline int make_unlinked_file(const char* name) {
  char path[128];
  std::snprintf(path, sizeof path, "%s%s-%016llx", kSharedFolder, name,
                static_cast<unsigned long long>(random_number()));
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (fd >= 0) unlink(path);
  return fd;
}

/// A memfd, or where the system or what confines this process knows none (gVisor's, seccomp's filters), a
/// file in /dev/shm. -1 with the errno of memfd_create.
inline int make_memory_file(const char* name) {
  int fd = make_memfd(name);
  const int reason = errno;
  if (fd < 0 && (reason == ENOSYS || reason == EPERM || reason == EACCES)) fd = make_unlinked_file(name);
  if (fd < 0) errno = reason;
  return fd;
}

/// Whether `fd` is a file in /dev/shm. One in a tmpfs can have no seals but that against seals.
inline bool is_in_shared_folder(int fd) {
  struct stat file {};
  struct stat folder {};
  return fcntl(fd, F_GET_SEALS) == F_SEAL_SEAL && fstat(fd, &file) == 0 &&
         stat(kSharedFolder, &folder) == 0 && file.st_dev == folder.st_dev;
}

/// Sets the length of a memory file within the limit of file sizes; false with errno. What lies in /dev/shm
/// never becomes shorter by that, and has its memory then.
inline bool set_memory_file_bytes(int fd, std::size_t bytes) {
  if (!is_in_shared_folder(fd)) return set_file_bytes(fd, bytes);
  if (may_be_as_large(bytes)) return fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0;
  errno = EFBIG;
  return false;
}

/// From now on the file never shrinks, so that no process that maps it can be made to touch pages that are
/// gone; nor does it grow, unless `may_grow`. One in /dev/shm is at its user's mercy: its descriptor is open
/// to no other.
inline void fix_memory_file(int fd, bool may_grow) {
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL | (may_grow ? 0 : F_SEAL_GROW));
}

inline bool is_fixed_memory_file(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  return (seals >= 0 && (seals & F_SEAL_SHRINK) != 0) || is_in_shared_folder(fd);
}

inline constexpr char kMemfdPrefix[] = "/memfd:";
inline bool is_memfd_name(const char* target) {
  return std::strncmp(target, kMemfdPrefix, sizeof kMemfdPrefix - 1) == 0;
}

/// Whether a descriptor that leads to `target`, as /proc tells it, is a memory file whose name begins with
/// `name`: a memfd, or a file that was unlinked, in /dev/shm or in the root of its tmpfs
/// (heap/choice/huge_file.hpp).
inline bool is_memory_file_name(const char* target, const char* name) {
  const bool in_folder = std::strncmp(target, kSharedFolder, sizeof kSharedFolder - 1) == 0;
  const char* own = target + (is_memfd_name(target) ? sizeof kMemfdPrefix - 1
                              : in_folder           ? sizeof kSharedFolder - 1
                                                    : *target == '/');
  return std::strncmp(own, name, std::strlen(name)) == 0 && std::strstr(own, " (deleted)") != nullptr;
}

/// Opens descriptor `fd` of process `pid` for reading and writing, if it is a memory file whose name begins
/// with `name`. Returns -1 with errno; ESTALE when it is something else.
inline int open_memory_file(std::int32_t pid, std::int32_t fd, const char* name) {
  char path[64];
  char target[96] = "";
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
  if (readlink(path, target, sizeof target - 1) < 0) return -1;
  if (!is_memory_file_name(target, name)) {
    errno = ESTALE;
    return -1;
  }
  return open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

}  // namespace tasuki
