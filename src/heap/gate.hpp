// The gate: lets fork() wait until no thread is inside the allocator, and keeps them out meanwhile.
//
// mimalloc's fast paths hold no lock that could be taken before a fork: a thread that is stopped between two
// of its steps leaves the child a heap that is half changed, for ever. So each thread says when it is inside,
// by a plain store; the thread that closes the gate makes these stores visible (membarrier) and waits until
// all are out.
//
// Each thread has one record; they form a list, which a lock guards. Open or closed is one word,
// `gate_is_closed`, whose writer is the thread that forks and whose readers are all.
//
// Invariant: after close_gate() returned, no other thread is inside until open_gate(), but for those that
// have waited so long that the fork itself must be waiting for them (kPatienceSeconds).
#pragma once

#include <atomic>
#include <cstdint>

namespace tasuki::heap {

enum class Place : std::uint8_t { kNew, kListed, kEnding };

struct GateRecord {
  std::atomic<std::uint32_t> inside{0};  // writer: its thread; reader: the thread that closes the gate
  Place place = Place::kNew;             // own thread only
  bool has_key = false;                  // own thread only: it forks, and may go in and out
  GateRecord* next = nullptr;            // under the lock
  GateRecord* previous = nullptr;
};

extern thread_local constinit GateRecord gate_record;
extern std::atomic<std::uint32_t> gate_is_closed;

enum GateState : std::uint32_t {
  kOpen,
  kClosing,  // a fork() is to begin: libc takes its locks
  kClosed,   // there is a child, which copies
};

/// To be called once, while there is one thread. `at_thread_end` is called in each thread that was inside,
/// early at its end. Returns false when that cannot be had.
bool prepare_gate(void (*at_thread_end)());

/// This thread's record goes into the list: before it is inside for the first time.
void list_in_gate();

/// Waits for the gate to open. This thread has said that it is inside.
void wait_at_gate();

void close_gate();
/// The fork has happened: threads that wait have no time limit from now on.
void keep_gate_closed();
void open_gate();
/// In the child of a fork: its only thread is the one that closed the gate.
void reset_gate();

/// Inside the allocator, for the time that this object lives. Not nested.
class Inside {
 public:
  Inside() {
    GateRecord& record = gate_record;
    if (record.place == Place::kNew) [[unlikely]]
      list_in_gate();
    record.inside.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the fence proper is membarrier's
    if (gate_is_closed.load(std::memory_order_acquire) != kOpen) [[unlikely]]
      wait_at_gate();
  }
  ~Inside() { gate_record.inside.store(0, std::memory_order_release); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

}  // namespace tasuki::heap
