// Control: locks and counters in shared memory.
#include "rma/control.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/progress.hpp"
#include "transport/transport.hpp"

namespace tasuki::rma {
namespace {

std::size_t ranks_of(int size) {
  return static_cast<std::size_t>(size);
}

}  // namespace

// Three states: who finds the lock held marks it as waited for before it sleeps, and takes it as such, so
// that the next holder wakes the next waiter.
void SharedMutex::lock_contended() {
  constexpr int kYields = 4;  // the holder is about to be done, if it runs
  for (int i = 0; i < kYields; ++i) {
    std::uint32_t free = 0;
    if (word_.compare_exchange_strong(free, 1, std::memory_order_acquire)) return;
    sched_yield();
  }
  while (word_.exchange(2, std::memory_order_acquire) != 0) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAIT, 2, nullptr, nullptr, 0);
  }
}

void SharedMutex::wake_one() {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

std::size_t Control::bytes_needed(int ranks) {
  const std::size_t size = ranks_of(ranks);
  return sizeof(FenceState) + size * sizeof(TargetState) + size * size * sizeof(PairState);
}

Control::Control(std::byte* memory, Comm& comm)
    : comm_(&comm),
      size_(comm.size()),
      fence_(reinterpret_cast<FenceState*>(memory)),
      targets_(reinterpret_cast<TargetState*>(memory + sizeof(FenceState))),
      pairs_(reinterpret_cast<PairState*>(targets_ + size_)),
      tickets_(ranks_of(size_)),
      posts_used_(ranks_of(size_)),
      completes_used_(ranks_of(size_)) {}

PairState& Control::pair(int origin, int target) const {
  return pairs_[ranks_of(target) * ranks_of(size_) + ranks_of(origin)];
}

void Control::wake(int rank) {
  comm_->process.transport->wake(comm_->endpoint(rank));
}

void Control::wake_all() {
  for (int rank = 0; rank < size_; ++rank) wake(rank);
}

void Control::lock(int target, bool exclusive) {
  TargetState& state = targets_[target];
  const std::uint32_t ticket = state.next.fetch_add(1);
  const std::atomic<std::uint32_t>& turn = exclusive ? state.done : state.entered_readers;
  if (turn.load() != ticket) {
    state.waiting.fetch_add(1);
    comm_->process.progress->wait_until([&] { return turn.load() == ticket; });
    state.waiting.fetch_sub(1);
  }
  if (exclusive) {
    tickets_[ranks_of(target)] = ticket;
    return;
  }
  state.entered_readers.store(ticket + 1);  // the next one, if it reads too, may come in
  if (state.waiting.load() != 0) wake_all();
}

void Control::unlock(int target, bool exclusive) {
  TargetState& state = targets_[target];
  if (exclusive) state.entered_readers.store(tickets_[ranks_of(target)] + 1);
  state.done.fetch_add(1);
  if (state.waiting.load() != 0) wake_all();
}

void Control::post(int origin) {
  pair(origin, comm_->rank).posts.fetch_add(1);
  wake(origin);
}

void Control::wait_for_post(int target) {
  const std::uint32_t used = posts_used_[ranks_of(target)]++;
  const PairState& state = pair(comm_->rank, target);
  comm_->process.progress->wait_until([&] { return state.posts.load() != used; });
}

void Control::complete(int target) {
  pair(comm_->rank, target).completes.fetch_add(1);
  wake(target);
}

bool Control::is_complete(int origin) const {
  return pair(origin, comm_->rank).completes.load() != completes_used_[ranks_of(origin)];
}

void Control::consume_complete(int origin) {
  ++completes_used_[ranks_of(origin)];
}

void Control::barrier() {
  const std::uint32_t round = fence_->round.load();
  if (fence_->arrived.fetch_add(1) + 1 == static_cast<std::uint32_t>(size_)) {
    fence_->arrived.store(0);
    fence_->round.store(round + 1);
    return wake_all();
  }
  comm_->process.progress->wait_until([&] { return fence_->round.load() != round; });
}

}  // namespace tasuki::rma
