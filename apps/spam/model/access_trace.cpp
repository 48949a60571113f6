// What compilers call for each access, recorded by thread; and the order in which it is gone through again.
#include "access_trace.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

namespace spam {
namespace {

/// An access is a word: the address, how many bytes, whether it writes.
constexpr int kBytesBits = 8, kWriteBits = 1;
constexpr std::uint64_t kPieceBytes = 128;  // longer accesses are several

struct Trace {
  struct Period {
    std::uint64_t number;
    std::size_t begin;  // of its accesses
  };
  int thread = 0;
  std::vector<std::uint64_t> accesses;
  std::vector<Period> periods;
};

std::atomic<std::uint64_t> period{0};
std::mutex registering;
thread_local Trace* own = nullptr;
thread_local bool recording = false;  // what the recorder does itself is not recorded

/// They live as long as the program, which may copy before this file's objects are there.
std::vector<Trace*>& traces() {
  static auto* all = new std::vector<Trace*>;
  return *all;
}

Trace* register_thread() {
  const std::lock_guard lock(registering);
  auto* trace = new Trace;
  trace->thread = omp_get_thread_num();
  traces().push_back(trace);
  return trace;
}

void record(const void* address, std::uint64_t bytes, bool write) {
  if (recording) return;
  recording = true;
  if (own == nullptr) own = register_thread();
  const std::uint64_t now = period.load(std::memory_order_relaxed);
  if (own->periods.empty() || own->periods.back().number != now)
    own->periods.push_back({now, own->accesses.size()});
  const auto place = reinterpret_cast<std::uint64_t>(address);
  own->accesses.push_back(((place << kBytesBits | bytes) << kWriteBits) | (write ? 1 : 0));
  recording = false;
}

void record_range(const void* address, std::uint64_t bytes, bool write) {
  for (std::uint64_t at = 0; at < bytes; at += kPieceBytes)
    record(static_cast<const char*>(address) + at, std::min(kPieceBytes, bytes - at), write);
}

Access unpacked(std::uint64_t word) {
  const std::uint64_t rest = word >> kWriteBits;
  return {rest >> kBytesBits, static_cast<int>(rest & ((1U << kBytesBits) - 1)), (word & 1) != 0};
}

/// What is left of a thread's accesses in a period.
struct Turn {
  int thread;
  const std::uint64_t *next, *end;
};

std::vector<Turn> turns_of(std::uint64_t number) {
  std::vector<Turn> turns;
  for (const Trace* trace : traces())
    for (std::size_t n = 0; n < trace->periods.size(); ++n) {
      if (trace->periods[n].number != number) continue;
      const std::size_t end =
          n + 1 < trace->periods.size() ? trace->periods[n + 1].begin : trace->accesses.size();
      const std::uint64_t* words = trace->accesses.data();
      turns.push_back({trace->thread, words + trace->periods[n].begin, words + end});
    }
  return turns;
}

}  // namespace

void replay_accesses(const std::function<void(int thread, const Access&)>& visit) {
  recording = true;
  std::vector<std::uint64_t> numbers;
  for (const Trace* trace : traces())
    for (const Trace::Period& one : trace->periods) numbers.push_back(one.number);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (const std::uint64_t number : numbers) {
    std::vector<Turn> turns = turns_of(number);
    while (!turns.empty()) {
      for (Turn& turn : turns) visit(turn.thread, unpacked(*turn.next++));
      std::erase_if(turns, [](const Turn& turn) { return turn.next == turn.end; });
    }
  }
  for (Trace* trace : traces()) {
    trace->accesses.clear();
    trace->periods.clear();
  }
  recording = false;
}

}  // namespace spam

// What compilers call under -fsanitize=thread; the names and signatures are theirs.
extern "C" {
#define SPAM_ACCESS(kind, bytes, write)                 \
  void __tsan_##kind##bytes(const void* at) {           \
    spam::record(at, bytes, write);                     \
  }                                                     \
  void __tsan_unaligned_##kind##bytes(const void* at) { \
    spam::record(at, bytes, write);                     \
  }
#define SPAM_ACCESSES(bytes) SPAM_ACCESS(read, bytes, false) SPAM_ACCESS(write, bytes, true)
SPAM_ACCESSES(1)
SPAM_ACCESSES(2)
SPAM_ACCESSES(4)
SPAM_ACCESSES(8)
SPAM_ACCESSES(16)
void __tsan_read_range(const void* at, std::size_t bytes) {
  spam::record_range(at, bytes, false);
}
void __tsan_write_range(const void* at, std::size_t bytes) {
  spam::record_range(at, bytes, true);
}
void __tsan_vptr_update(void** at, void*) {
  spam::record(at, sizeof *at, true);
}
void __tsan_vptr_read(void** at) {
  spam::record(at, sizeof *at, false);
}
void __tsan_func_entry(const void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}

// What OpenMP's and C's functions do unseen; the linker brings the calls here (--wrap).
void __real_GOMP_parallel(void (*)(void*), void*, unsigned, unsigned);
void __real_GOMP_barrier();
void __real_GOMP_loop_end();
void __real_GOMP_critical_name_start(void**);
void* __real_memset(void*, int, std::size_t);
void* __real_memcpy(void*, const void*, std::size_t);
void* __real_memmove(void*, const void*, std::size_t);

void __wrap_GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  ++spam::period;
  __real_GOMP_parallel(body, data, threads, flags);
  ++spam::period;
}
/// Between two barriers, so that all threads see the same period before and after.
static void begin_period() {
  if (omp_get_thread_num() == 0) ++spam::period;
  __real_GOMP_barrier();
}
void __wrap_GOMP_barrier() {
  __real_GOMP_barrier();
  begin_period();
}
void __wrap_GOMP_loop_end() {
  __real_GOMP_loop_end();
  begin_period();
}
/// The lock's line goes to the thread that takes it.
void __wrap_GOMP_critical_name_start(void** lock) {
  spam::record(lock, sizeof *lock, true);
  __real_GOMP_critical_name_start(lock);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  spam::record_range(to, bytes, true);
  return __real_memset(to, value, bytes);
}
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  spam::record_range(from, bytes, false);
  spam::record_range(to, bytes, true);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  spam::record_range(from, bytes, false);
  spam::record_range(to, bytes, true);
  return __real_memmove(to, from, bytes);
}
}
