// The asymmetric handshake: threads store and look without a fence; the thread that closes pays for it with
// membarrier. Where membarrier is not to be had, waiting a while is all that is left: a store is seen in
// nanoseconds.
#include "heap/gate.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace tasuki::heap {

thread_local constinit GateRecord gate_record;
constinit std::atomic<std::uint32_t> gate_is_closed{kOpen};

namespace {

/// A fork() that takes longer than this to begin waits for a lock of libc's whose holder waits for us.
constexpr int kPatienceSeconds = 5;
/// A thread that has not left the allocator by then is stopped by something else, a debugger or a signal
/// handler.
constexpr int kYieldsMax = 100;
constexpr int kNapsMax = 100'000;  // of 0.1 ms and more: a thread may wait long for a processor

constinit pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
constinit GateRecord* first = nullptr;
constinit bool has_membarrier = false;
constinit pthread_key_t thread_end = 0;
using Notice = void (*)();
constinit Notice call_at_thread_end = nullptr;

void fence_everywhere() {
  if (has_membarrier && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const timespec while_stores_arrive = {0, 1'000'000};
  nanosleep(&while_stores_arrive, nullptr);
}

void wait_until_outside(const GateRecord& record) {
  for (int i = 0; record.inside.load(std::memory_order_acquire) != 0 && i < kYieldsMax + kNapsMax; ++i) {
    const timespec nap = {0, 100'000};
    if (i < kYieldsMax) {
      sched_yield();
    } else {
      nanosleep(&nap, nullptr);
    }
  }
}

/// The record lies in the thread's own memory. What the thread frees after this is not counted.
void unlist(void*) {
  GateRecord& record = gate_record;
  call_at_thread_end();
  pthread_mutex_lock(&list_lock);
  if (record.previous != nullptr) record.previous->next = record.next;
  if (record.next != nullptr) record.next->previous = record.previous;
  if (first == &record) first = record.next;
  record.place = Place::kEnding;
  pthread_mutex_unlock(&list_lock);
}

}  // namespace

bool prepare_gate(void (*at_thread_end)()) {
  call_at_thread_end = at_thread_end;
  has_membarrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return pthread_key_create(&thread_end, unlist) == 0;
}

void list_in_gate() {
  GateRecord& record = gate_record;
  record.place = Place::kEnding;  // what libc allocates for the key does not come here again
  if (pthread_setspecific(thread_end, &record) != 0) return;
  pthread_mutex_lock(&list_lock);
  record.place = Place::kListed;
  record.previous = nullptr;
  record.next = first;
  if (first != nullptr) first->previous = &record;
  first = &record;
  pthread_mutex_unlock(&list_lock);
}

void wait_at_gate() {
  GateRecord& record = gate_record;
  if (record.has_key) return;
  const timespec second = {1, 0};
  for (int waited = 0; waited < kPatienceSeconds;) {
    record.inside.store(0, std::memory_order_release);
    const std::uint32_t seen = gate_is_closed.load(std::memory_order_acquire);
    if (seen != kOpen) {
      const long done = syscall(SYS_futex, &gate_is_closed, FUTEX_WAIT_PRIVATE, seen, &second, nullptr, 0);
      if (done != 0 && errno == ETIMEDOUT && seen == kClosing) ++waited;
    }
    record.inside.store(1, std::memory_order_seq_cst);
    if (gate_is_closed.load(std::memory_order_seq_cst) == kOpen) return;
  }
}

void close_gate() {
  if (gate_record.place == Place::kNew) list_in_gate();  // not while it holds the lock
  gate_record.has_key = true;
  pthread_mutex_lock(&list_lock);
  gate_is_closed.store(kClosing, std::memory_order_seq_cst);
  fence_everywhere();
  for (GateRecord* record = first; record != nullptr; record = record->next) {
    if (record == &gate_record) continue;
    wait_until_outside(*record);
  }
}

void keep_gate_closed() {
  gate_is_closed.store(kClosed, std::memory_order_release);
}

void open_gate() {
  gate_is_closed.store(kOpen, std::memory_order_release);
  pthread_mutex_unlock(&list_lock);
  gate_record.has_key = false;
  syscall(SYS_futex, &gate_is_closed, FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

void reset_gate() {
  gate_is_closed.store(kOpen, std::memory_order_relaxed);
  list_lock = PTHREAD_MUTEX_INITIALIZER;
  GateRecord& record = gate_record;
  record.next = record.previous = nullptr;
  record.has_key = false;
  first = record.place == Place::kListed ? &record : nullptr;
}

}  // namespace tasuki::heap
