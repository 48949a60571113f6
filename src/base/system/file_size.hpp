// Sets the length of a file, memory files too, within the limit of file sizes (ulimit -f).
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace tasuki {

/// Whether the limit allows a file of `bytes`: growing one beyond it raises a signal.
inline bool may_be_as_large(std::uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

/// ftruncate, but what the limit forbids is an error (EFBIG) instead of a signal that ends the program.
inline bool set_file_bytes(int fd, std::size_t bytes) {
  if (!may_be_as_large(bytes)) {
    errno = EFBIG;
    return false;
  }
  return ftruncate(fd, static_cast<off_t>(bytes)) == 0;
}

}  // namespace tasuki
