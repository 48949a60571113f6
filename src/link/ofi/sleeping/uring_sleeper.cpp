// Sleeping in an io_uring: one entry waits for the doorbell's word, one for the descriptor. What is still
// under way when a sleep ends stays so for the next one: a word that has changed, and a descriptor that was
// readable meanwhile, have completed their entries by then.
#include "link/ofi/sleeping/sleeper.hpp"

#if TASUKI_URING

#include <liburing.h>
#include <linux/futex.h>
#include <poll.h>

#include <cerrno>
#include <climits>

namespace tasuki::ofi {
namespace {

// Of Linux 6.7; liburing of Debian 12 does not know them.
constexpr std::uint8_t kFutexWait = 51;
constexpr int kFutexSizeU32 = 2;
constexpr std::uint64_t kAnyBit = UINT32_MAX;

constexpr std::uint64_t kWord = 1;
constexpr std::uint64_t kDescriptor = 2;

class UringSleeper final : public Sleeper {
 public:
  UringSleeper(shm::Doorbell& bell, int descriptor) : bell_(bell), descriptor_(descriptor) {}
  ~UringSleeper() override {
    if (made_) io_uring_queue_exit(&ring_);
  }

  /// Whether the kernel has what is needed: a wait for a word that is another one ends at once with EAGAIN.
  bool make() {
    made_ = io_uring_queue_init(4, &ring_, 0) == 0;
    if (!made_) return false;
    io_uring_ring_dontfork(&ring_);
    wait_for_word(bell_.rings.load(std::memory_order_relaxed) + 1);
    io_uring_cqe* entry = nullptr;
    if (io_uring_submit_and_wait(&ring_, 1) < 0 || io_uring_peek_cqe(&ring_, &entry) != 0) return false;
    const bool good = entry->res == -EAGAIN || entry->res == 0;
    io_uring_cqe_seen(&ring_, entry);
    word_waits_ = false;
    return good;
  }

  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override {
    take_all();
    if (bell_.rings.load(std::memory_order_seq_cst) != ticket) return true;
    if (!word_waits_) wait_for_word(ticket);
    if (!descriptor_waits_) wait_for_descriptor();
    __kernel_timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    io_uring_cqe* entry = nullptr;
    const int result = io_uring_submit_and_wait_timeout(&ring_, &entry, 1, &timeout, nullptr);
    const bool woken = take_all() || (result < 0 && result != -ETIME);
    return woken || bell_.rings.load(std::memory_order_relaxed) != ticket;
  }
  const char* name() const override { return "io_uring"; }

 private:
  void wait_for_word(std::uint32_t value) {
    io_uring_sqe* const call = io_uring_get_sqe(&ring_);
    if (call == nullptr) return;
    io_uring_prep_rw(kFutexWait, call, kFutexSizeU32, &bell_.rings, 0, value);
    // The mask of the bits that wake lies where other calls have a pointer.
    call->__pad2[0] = 0;
    call->addr3 = kAnyBit;
    io_uring_sqe_set_data64(call, kWord);
    word_waits_ = true;
  }
  void wait_for_descriptor() {
    io_uring_sqe* const call = io_uring_get_sqe(&ring_);
    if (call == nullptr) return;
    io_uring_prep_poll_add(call, descriptor_, POLLIN);
    io_uring_sqe_set_data64(call, kDescriptor);
    descriptor_waits_ = true;
  }
  /// Returns whether there was any that tells of an event.
  bool take_all() {
    bool any = false;
    io_uring_cqe* entry = nullptr;
    while (io_uring_peek_cqe(&ring_, &entry) == 0) {
      const std::uint64_t which = io_uring_cqe_get_data64(entry);
      if (which == kWord) word_waits_ = false;
      if (which == kDescriptor) descriptor_waits_ = false;
      any = any || which == kWord || which == kDescriptor;
      io_uring_cqe_seen(&ring_, entry);
    }
    return any;
  }

  shm::Doorbell& bell_;
  const int descriptor_;
  io_uring ring_{};
  bool made_ = false;
  bool word_waits_ = false;
  bool descriptor_waits_ = false;
};

}  // namespace

std::unique_ptr<Sleeper> make_uring_sleeper(shm::Doorbell& bell, int descriptor) {
  auto sleeper = std::make_unique<UringSleeper>(bell, descriptor);
  if (!sleeper->make()) return nullptr;
  return sleeper;
}

}  // namespace tasuki::ofi

#else

namespace tasuki::ofi {

std::unique_ptr<Sleeper> make_uring_sleeper(shm::Doorbell&, int) {
  return nullptr;
}

}  // namespace tasuki::ofi

#endif
