// The guard's whole life: close what is not its own, wait, kill.
#include "launch/host/guard.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <vector>

#include "job/local/name_folder.hpp"
#include "launch/host/orphans.hpp"
#include "launch/options/options.hpp"

namespace tasuki::launch {
namespace {

constexpr std::size_t kListBytes = sizeof(std::atomic<int>) * kRanksMax;

// A process that is killed may be starting another at that moment, so they are looked for until none is
// found; not for ever, since one may hang in the kernel.
constexpr int kRoundsMax = 100;
constexpr long kRoundNs = 10'000'000;

void kill_all(const std::atomic<int>* groups, const std::string& mark) {
  for (int round = 0; round < kRoundsMax; ++round) {
    for (int place = 0; place < kRanksMax; ++place) {
      const int group = groups[place].load(std::memory_order_acquire);
      if (group > 0) kill(-group, SIGKILL);
    }
    const std::vector<int> marked = processes_with(mark);
    if (marked.empty()) return;
    for (const int pid : marked) kill(pid, SIGKILL);
    const timespec pause{0, kRoundNs};
    nanosleep(&pause, nullptr);
  }
}

[[noreturn]] void watch(int lifeline, const std::atomic<int>* groups, const std::string& mark,
                        const std::string& folder) {
  setpgid(0, 0);  // Ctrl-C is not for it
  prctl(PR_SET_NAME, kGuardName);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);  // a reader of mpiexec's output must not wait for it
  char byte = 0;
  while (read(lifeline, &byte, 1) < 0 && errno == EINTR) {
  }
  kill_all(groups, mark);
  local::remove_names_of_the_dead();
  std::error_code ignored;
  if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
  _exit(0);
}

}  // namespace

void Guard::start(const std::string& mark, const std::string& folder) {
  void* list = mmap(nullptr, kListBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2];
  if (list == MAP_FAILED) return;
  groups_ = static_cast<std::atomic<int>*>(list);  // zero at first
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[1]);
    watch(ends[0], groups_, mark, folder);
  }
  close(ends[0]);
  lifeline_ = ends[1];
}

int Guard::add(int group) {
  for (int place = 0; groups_ != nullptr && place < kRanksMax; ++place) {
    if (groups_[place].load(std::memory_order_relaxed) != 0) continue;
    groups_[place].store(group, std::memory_order_release);
    return place;
  }
  return -1;
}

void Guard::remove(int place) {
  if (place >= 0) groups_[place].store(0, std::memory_order_release);
}

Guard::~Guard() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (lifeline_ >= 0) close(lifeline_);
  if (groups_ != nullptr) munmap(groups_, kListBytes);
}

}  // namespace tasuki::launch
