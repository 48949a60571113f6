// A memory file: memory with a descriptor and no name (memfd), which other processes of the same user map.
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

namespace tasuki {

/// Makes an empty one, close-on-exec, that only this user may open. `name` begins with "tasuki-". -1 with
/// errno.
inline int make_memory_file(const char* name) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  constexpr unsigned kNoExecuteSeal = 8;  // MFD_NOEXEC_SEAL, younger than the headers we build with
  int fd = memfd_create(name, kFlags | kNoExecuteSeal);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, kFlags);
  if (fd >= 0) fchmod(fd, S_IRUSR | S_IWUSR);  // memfd_create makes it open to all users
  return fd;
}

/// From now on the file never shrinks, so that no process that maps it can be made to touch pages that are
/// gone; nor does it grow, unless `may_grow`.
inline void fix_memory_file(int fd, bool may_grow) {
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL | (may_grow ? 0 : F_SEAL_GROW));
}

inline bool is_fixed_memory_file(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

inline constexpr char kMemfdPrefix[] = "/memfd:";
inline bool is_memfd_name(const char* target) {
  return std::strncmp(target, kMemfdPrefix, sizeof kMemfdPrefix - 1) == 0;
}

/// Whether a descriptor that leads to `target`, as /proc tells it, is a memory file whose name begins with
/// `name`: a memfd, or a file that was unlinked in the root of its tmpfs (heap/choice/huge_file.hpp).
inline bool is_memory_file_name(const char* target, const char* name) {
  const char* own = target + (is_memfd_name(target) ? sizeof kMemfdPrefix - 1 : *target == '/');
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
