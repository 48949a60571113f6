// SpawnAttributes: how mpiexec starts helpers by posix_spawn. A helper begins as a program of a shell does,
// with no signal blocked and all at their defaults, whatever mpiexec itself blocks.
#pragma once

#include <signal.h>
#include <spawn.h>

namespace tasuki::launch {

class SpawnAttributes {
 public:
  enum class Group : bool { kCallers, kOwn };  // own: the terminal's signals are not for it

  explicit SpawnAttributes(Group group) {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    const int own = group == Group::kOwn ? POSIX_SPAWN_SETPGROUP : 0;
    posix_spawnattr_setflags(&attributes_,
                             static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | own));
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

}  // namespace tasuki::launch
