// How likely the kernel kills a process when memory runs out.
//
// It kills the process with the highest score: its memory, plus /proc/PID/oom_score_adj thousandths of the
// machine's; -1000 spares a process altogether. Every process may raise its own adjustment; lowering it takes
// CAP_SYS_RESOURCE. Children inherit it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace tasuki {

inline constexpr const char* kKillScorePath = "/proc/self/oom_score_adj";
inline constexpr const char* kKillScoreLeast = "-1000";
inline constexpr const char* kKillScoreMost = "1000";

/// Of the calling process; also between vfork and execve. Where it fails everything stays as it is.
inline void set_kill_score(const char* score) {
  const int fd = open(kKillScorePath, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, score, strlen(score));
  close(fd);
}

}  // namespace tasuki
