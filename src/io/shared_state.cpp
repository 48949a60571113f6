// The shared block of a file, and its lock: a word that sleepers wait for by a futex.
#include "io/shared_state.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace tasuki {
namespace {

/// Waits no longer than that for being woken, which others may miss to do.
constexpr timespec kPause{0, 50'000'000};

long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value, const timespec* pause) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), operation, value, pause, nullptr, 0);
}

}  // namespace

SharedState::SharedState(std::unique_ptr<SharedSegment> segment, std::unique_ptr<Block> own)
    : segment_(std::move(segment)), own_(std::move(own)) {
  block_ = segment_ != nullptr ? std::launder(reinterpret_cast<Block*>(segment_->base())) : own_.get();
}

std::unique_ptr<SharedState> SharedState::create(bool alone, std::string* error) {
  std::unique_ptr<SharedSegment> segment;
  std::unique_ptr<Block> own;
  if (alone) {
    own = std::make_unique<Block>();
  } else {
    segment = SharedSegment::create(sizeof(Block), error);
    if (segment == nullptr) return nullptr;
    ::new (static_cast<void*>(segment->base())) Block;
  }
  return std::unique_ptr<SharedState>(new SharedState(std::move(segment), std::move(own)));
}

std::unique_ptr<SharedState> SharedState::open(const SegmentAddress& address, std::string* error) {
  if (address.bytes != sizeof(Block)) {
    *error = "the address of the block that the ranks of the file share is damaged";
    return nullptr;
  }
  std::unique_ptr<SharedSegment> segment = SharedSegment::open(address, error);
  if (segment == nullptr) return nullptr;
  return std::unique_ptr<SharedState>(new SharedState(std::move(segment), nullptr));
}

void SharedState::lock() {
  std::atomic<std::uint32_t>& word = block_->lock;
  std::uint32_t seen = 0;
  if (word.compare_exchange_strong(seen, 1, std::memory_order_acquire)) return;
  for (;;) {
    // A word that nobody writes has been overwritten: it says nothing of who holds the lock.
    const std::uint32_t found = word.exchange(2, std::memory_order_acquire);
    if (found == 0 || found > 2) return;
    futex(&word, FUTEX_WAIT, 2, &kPause);
  }
}

void SharedState::unlock() {
  if (block_->lock.exchange(0, std::memory_order_release) == 2) futex(&block_->lock, FUTEX_WAKE, 1, nullptr);
}

}  // namespace tasuki
