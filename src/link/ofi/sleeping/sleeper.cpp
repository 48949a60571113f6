// The helper thread, and the choice between the two ways.
//
// The helper waits on an eventfd until a sleep begins, then for the descriptor; it rings once and waits for
// the next sleep. A rank that is awake is so disturbed once at most.
#include "link/ofi/sleeping/sleeper.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

namespace tasuki::ofi {
namespace {

class BellSleeper final : public Sleeper {
 public:
  explicit BellSleeper(shm::Doorbell& bell) : bell_(bell) {}
  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override {
    return shm::doorbell_sleep(bell_, ticket, timeout_ns);
  }
  const char* name() const override { return "the doorbell alone"; }

 private:
  shm::Doorbell& bell_;
};

class ThreadSleeper final : public Sleeper {
 public:
  ThreadSleeper(shm::Doorbell& bell, int descriptor)
      : bell_(bell), descriptor_(descriptor), begin_(eventfd(0, EFD_CLOEXEC)) {
    if (begin_ < 0) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    helper_ = std::thread([this] { help(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~ThreadSleeper() override {
    if (begin_ < 0) return;
    ending_.store(true, std::memory_order_seq_cst);
    tell();
    helper_.join();
    close(begin_);
  }

  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override {
    if (!watching_.exchange(true, std::memory_order_seq_cst)) tell();
    return shm::doorbell_sleep(bell_, ticket, timeout_ns);
  }
  const char* name() const override { return "a helper thread"; }
  bool is_made() const { return begin_ >= 0; }

 private:
  void tell() {
    const std::uint64_t one = 1;
    while (write(begin_, &one, sizeof one) < 0 && errno == EINTR) {
    }
  }
  void help() {
    std::uint64_t told = 0;
    while (read(begin_, &told, sizeof told) == static_cast<ssize_t>(sizeof told)) {
      if (ending_.load(std::memory_order_seq_cst)) return;
      pollfd both[2] = {{descriptor_, POLLIN, 0}, {begin_, POLLIN, 0}};
      poll(both, 2, -1);  // interrupted: it rings once too often
      watching_.store(false, std::memory_order_seq_cst);
      if (both[0].revents != 0) shm::doorbell_ring(bell_);
    }
  }

  shm::Doorbell& bell_;
  const int descriptor_;
  const int begin_;  // an eventfd: a sleep begins, or this ends
  std::atomic<bool> ending_{false};
  std::atomic<bool> watching_{false};  // the helper waits for the descriptor, or is about to; seq_cst
  std::thread helper_;
};

}  // namespace

std::unique_ptr<Sleeper> make_sleeper(WaitBy by, shm::Doorbell& bell, int descriptor, std::string* error) {
  if (descriptor < 0) return std::make_unique<BellSleeper>(bell);
  if (by != WaitBy::kThread) {
    if (auto sleeper = make_uring_sleeper(bell, descriptor)) return sleeper;
    if (by == WaitBy::kUring) {
      *error =
          "TASUKI_NET_WAIT=uring: the kernel (6.7 or newer is needed), what confines this process, or this "
          "build has no io_uring that waits for memory";
      return nullptr;
    }
  }
  auto sleeper = std::make_unique<ThreadSleeper>(bell, descriptor);
  if (sleeper->is_made()) return sleeper;
  *error = "no descriptor is left to wait for the network with (ulimit -n)";
  return nullptr;
}

}  // namespace tasuki::ofi
