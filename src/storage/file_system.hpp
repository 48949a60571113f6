// Which file system a file lies on.
#pragma once

#include <sys/vfs.h>

#include <cstdint>

namespace tasuki {

/// Of an open file: the system's number for its kind of file system (linux/magic.h). 0: not known.
inline std::uint32_t file_system_of(int fd) {
  struct statfs facts;
  return fstatfs(fd, &facts) == 0 ? static_cast<std::uint32_t>(facts.f_type) : 0;
}

}  // namespace tasuki
