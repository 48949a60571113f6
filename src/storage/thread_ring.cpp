// A thread that moves pieces of a file: see thread_ring.hpp.
//
// The caller's side and the thread hand the list of calls to each other by two semaphores. What the calls
// point at is the side's whose turn it is.
#include "storage/thread_ring.hpp"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace tasuki {
namespace {

class ThreadRing final : public Ring {
 public:
  ThreadRing() {
    sem_init(&begun_, 0, 0);
    sem_init(&done_, 0, 0);
  }
  ~ThreadRing() override {
    if (!started_ || getpid() != owner_) return;
    ends_ = true;
    sem_post(&begun_);
    pthread_join(thread_, nullptr);
    sem_destroy(&begun_);
    sem_destroy(&done_);
  }

  /// Returns an errno.
  int start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&thread_, nullptr, run, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    started_ = error == 0;
    return error;
  }

  void begin(int fd, bool write, std::span<RingCall> calls) override {
    fd_ = fd;
    write_ = write;
    calls_ = calls;
    is_under_way_ = true;
    sem_post(&begun_);
  }

  bool is_over() override {
    int done = 0;
    return !is_under_way_ || (sem_getvalue(&done_, &done) == 0 && done > 0);
  }

  bool finish() override {
    if (is_under_way_) wait_for(&done_);
    is_under_way_ = false;
    calls_ = {};
    return true;
  }

 private:
  /// A signal is no end.
  static void wait_for(sem_t* semaphore) {
    while (sem_wait(semaphore) != 0) {
    }
  }

  static void* run(void* self) {
    static_cast<ThreadRing*>(self)->work();
    return nullptr;
  }

  void work() {
    for (;;) {
      wait_for(&begun_);
      if (ends_) return;
      for (RingCall& call : calls_) call.result = make(call);
      sem_post(&done_);
    }
  }

  /// What is short is the caller's matter.
  std::int64_t make(const RingCall& call) const {
    const int count = static_cast<int>(call.count);
    const ssize_t moved = write_ ? pwritev(fd_, call.vectors, count, call.offset)
                                 : preadv(fd_, call.vectors, count, call.offset);
    return moved < 0 ? -errno : moved;
  }

  pthread_t thread_{};
  bool started_ = false;
  const pid_t owner_ = getpid();
  sem_t begun_;
  sem_t done_;
  bool ends_ = false;
  bool is_under_way_ = false;  // the caller's alone
  int fd_ = -1;
  bool write_ = false;
  std::span<RingCall> calls_;
};

}  // namespace

std::unique_ptr<Ring> make_thread_ring(std::string* refusal) {
  auto ring = std::make_unique<ThreadRing>();
  const int error = ring->start();
  if (error == 0) return ring;
  *refusal = std::string("the system gives no thread: ") + std::strerror(error);
  return nullptr;
}

}  // namespace tasuki
