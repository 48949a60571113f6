// Ring by liburing: see uring.hpp.
//
// Ownership: a ring has a descriptor, closed on exec, and two mappings. Its entries are what is under way at
// most; the rest of a long list follows as they complete.
#include "storage/uring.hpp"

#if TASUKI_URING

#include <liburing.h>

#include <cerrno>
#include <cstring>

namespace tasuki {
namespace {

constexpr unsigned kEntries = 128;

class KernelRing final : public Ring {
 public:
  ~KernelRing() override {
    if (made_) io_uring_queue_exit(&ring_);
  }

  /// Returns an errno.
  int make() {
    const int result = io_uring_queue_init(kEntries, &ring_, 0);
    made_ = result == 0;
    return -result;
  }

  void begin(int fd, bool write, std::span<RingCall> calls) override {
    fd_ = fd;
    write_ = write;
    calls_ = calls;
    next_ = 0;
    under_way_ = 0;
    submit();
  }

  bool finish() override {
    while (under_way_ > 0 || next_ < calls_.size()) {
      if (under_way_ == 0 && usable_) submit();
      if (under_way_ == 0) {
        give_up();
        break;
      }
      io_uring_cqe* entry = nullptr;
      const int error = io_uring_wait_cqe(&ring_, &entry);
      if (error != 0) continue;  // interrupted; it knows no other while something is under way
      take(entry);
      if (under_way_ <= kEntries / 2) submit();
    }
    calls_ = {};
    return usable_;
  }

 private:
  void take(io_uring_cqe* entry) {
    calls_[io_uring_cqe_get_data64(entry)].result = entry->res;
    io_uring_cqe_seen(&ring_, entry);
    --under_way_;
  }

  /// As many of the next calls as there is room for.
  void submit() {
    unsigned queued = 0;
    while (usable_ && next_ < calls_.size() && under_way_ + queued < kEntries) {
      io_uring_sqe* entry = io_uring_get_sqe(&ring_);
      if (entry == nullptr) break;
      const RingCall& call = calls_[next_];
      const auto count = static_cast<unsigned>(call.count);
      const auto offset = static_cast<std::uint64_t>(call.offset);
      if (write_) {
        io_uring_prep_writev(entry, fd_, call.vectors, count, offset);
      } else {
        io_uring_prep_readv(entry, fd_, call.vectors, count, offset);
      }
      io_uring_sqe_set_data64(entry, next_++);
      ++queued;
    }
    while (queued > 0) {
      const int taken = io_uring_submit(&ring_);
      if (taken == -EINTR) continue;
      if (taken <= 0) {  // no memory for it: these stay in the queue, so the queue ends with them
        usable_ = false;
        next_ -= queued;
        return;
      }
      queued -= static_cast<unsigned>(taken);
      under_way_ += static_cast<unsigned>(taken);
    }
  }

  void give_up() {
    for (; next_ < calls_.size(); ++next_) calls_[next_].result = -EAGAIN;
  }

  io_uring ring_{};
  bool made_ = false;
  bool usable_ = true;
  int fd_ = -1;
  bool write_ = false;
  std::span<RingCall> calls_;
  std::size_t next_ = 0;  // of the calls: those before it have been submitted
  unsigned under_way_ = 0;
};

}  // namespace

std::unique_ptr<Ring> make_ring(std::string* refusal) {
  auto ring = std::make_unique<KernelRing>();
  const int error = ring->make();
  if (error == 0) return ring;
  *refusal = std::string("the kernel refuses it: ") + std::strerror(error);
  return nullptr;
}

}  // namespace tasuki

#else

namespace tasuki {

std::unique_ptr<Ring> make_ring(std::string* refusal) {
  *refusal = "this library was built without liburing";
  return nullptr;
}

}  // namespace tasuki

#endif
