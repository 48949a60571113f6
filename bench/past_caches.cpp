// What it takes that one processor writes data and another one reads it, over and over: the bare loop behind
// what the library writes past its caches (docs/protocols.md). Two threads, each bound to a processor.
//
//   past_caches [BYTES [CPU CPU]]     `make past-caches` builds it
//
// The owner writes each cache line of its data, the data go over, and the other one reads each line of what
// it got. They go over by the other one's copy (get), by the owner's (put), or by the owner's past the caches
// (stream). A line for each way: us of each part, medians of some hundred turns; before, what a cache line
// takes there and back. Last, what one way takes where the two send to each other in turns: by get, and in
// two copies through cells of 16 KiB, which are the sender's again or pass to the receiver
// (src/link/shm/cells.hpp).
#include <emmintrin.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kLine = 64;
constexpr int kTurns = 400, kTrips = 50000;

double now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

void bind(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processor), &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0) return;
  std::fprintf(stderr, "past_caches: cannot run on processor %d\n", processor);
  std::exit(2);
}

void stream(char* to, const char* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(__m128i)) {
    const __m128i word = _mm_load_si128(reinterpret_cast<const __m128i*>(from + at));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), word);
  }
  _mm_sfence();
}

char* make(std::size_t bytes) {
  auto* const data = static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
  std::memset(data, 1, bytes);
  return data;
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + kTurns / 2, times.end());
  return times[kTurns / 2];
}

enum class Way { kGet, kPut, kStream };

struct Pair {
  std::size_t bytes;
  int owner, other;
  char* given = make(bytes);
  char* got = make(bytes);
  alignas(kLine) std::atomic<int> there{0};
  alignas(kLine) std::atomic<int> done{0};
  std::atomic<bool> bound{false};
  std::vector<double> writes = std::vector<double>(kTurns), puts = writes, gets = writes, reads = writes,
                      all = writes;

  /// The other one's thread, once it runs on its own processor.
  template <class Body>
  std::thread start(Body body) {
    bound = false;
    std::thread thread([this, body] {
      bind(other);
      bound = true;
      body();
    });
    while (!bound) sched_yield();
    return thread;
  }
  void receive(Way way) {
    for (int turn = 0; turn < kTurns; ++turn) {
      while (there.load(std::memory_order_acquire) != turn + 1) continue;
      const double begin = now_us();
      if (way == Way::kGet) std::memcpy(got, given, bytes);
      const double middle = now_us();
      long sum = 0;
      for (std::size_t at = 0; at < bytes; at += kLine) sum += *static_cast<volatile char*>(got + at);
      static_cast<void>(sum);
      reads[turn] = now_us() - middle;
      gets[turn] = middle - begin;
      done.store(turn + 1, std::memory_order_release);
    }
  }
  void run(Way way, const char* name) {
    there = done = 0;
    std::thread receiver = start([this, way] { receive(way); });
    for (int turn = 0; turn < kTurns; ++turn) {
      const double begin = now_us();
      for (std::size_t at = 0; at < bytes; at += kLine) given[at] = static_cast<char>(turn);
      const double middle = now_us();
      if (way == Way::kPut) std::memcpy(got, given, bytes);
      if (way == Way::kStream) stream(got, given, bytes);
      writes[turn] = middle - begin;
      puts[turn] = now_us() - middle;
      there.store(turn + 1, std::memory_order_release);
      while (done.load(std::memory_order_acquire) != turn + 1) continue;
      all[turn] = now_us() - begin;
    }
    receiver.join();
    std::printf("%-6s  owner writes %6.2f, puts %6.2f; other gets %6.2f, reads %6.2f; all %6.2f us\n", name,
                median(writes), median(puts), median(gets), median(reads), median(all));
  }
  /// Turns of two that write what they send and read what they get: us of one way, the median.
  double turns(bool through_cells, bool cells_pass) {
    constexpr std::size_t kCell = 16 << 10;
    char* const buffers[2][2] = {{given, got}, {make(bytes), make(bytes)}};
    char* const cells[2] = {make(bytes), cells_pass ? nullptr : make(bytes)};
    const std::size_t pieces = (bytes + kCell - 1) / kCell;
    std::vector<std::atomic<int>> full(2 * pieces * kLine / sizeof(int));
    const auto flag = [&](int way, std::size_t piece) -> std::atomic<int>& {
      return full[(static_cast<std::size_t>(way) * pieces + piece) * kLine / sizeof(int)];
    };
    const auto cell = [&](int way, std::size_t piece) { return cells[cells_pass ? 0 : way] + piece * kCell; };
    const auto side = [&](int self, std::vector<double>& times) {
      char* const out = buffers[self][0];
      char* const in = buffers[self][1];
      const auto send = [&](int turn) {
        for (std::size_t at = 0; at < bytes; at += kLine) out[at] = static_cast<char>(turn);
        for (std::size_t piece = 0; piece < pieces; ++piece) {
          const std::size_t at = piece * kCell;
          if (through_cells) std::memcpy(cell(self, piece), out + at, std::min(kCell, bytes - at));
          flag(self, piece).store(turn, std::memory_order_release);
        }
      };
      const auto take = [&](int turn) {
        long sum = 0;
        for (std::size_t piece = 0; piece < pieces; ++piece) {
          const std::size_t at = piece * kCell;
          while (flag(1 - self, piece).load(std::memory_order_acquire) != turn) continue;
          const char* const from = through_cells ? cell(1 - self, piece) : buffers[1 - self][0] + at;
          std::memcpy(in + at, from, std::min(kCell, bytes - at));
        }
        for (std::size_t at = 0; at < bytes; at += kLine) sum += *static_cast<volatile char*>(in + at);
        static_cast<void>(sum);
      };
      for (int turn = 1; turn <= kTurns; ++turn) {
        const double begin = now_us();
        if (self == 0) send(turn);
        take(turn);
        if (self == 1) send(turn);
        times[static_cast<std::size_t>(turn - 1)] = (now_us() - begin) / 2;
      }
    };
    std::vector<double> times(kTurns);
    std::thread thread = start([&] {
      std::vector<double> unused(kTurns);
      side(1, unused);
    });
    side(0, times);
    thread.join();
    for (char* const made : {buffers[1][0], buffers[1][1], cells[0], cells[1]}) std::free(made);
    return median(times);
  }
  double line_ns() {
    there = 0;
    std::thread receiver = start([this] {
      for (int trip = 0; trip < kTrips; ++trip) {
        while (there.load() != 2 * trip + 1) continue;
        there.store(2 * trip + 2);
      }
    });
    const double begin = now_us();
    for (int trip = 0; trip < kTrips; ++trip) {
      there.store(2 * trip + 1);
      while (there.load() != 2 * trip + 2) continue;
    }
    const double us = now_us() - begin;
    receiver.join();
    return 1000 * us / kTrips;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) / kLine * kLine : 64 << 10;
  Pair pair{.bytes = std::max(bytes, kLine),
            .owner = argc > 3 ? std::atoi(argv[2]) : 0,
            .other = argc > 3 ? std::atoi(argv[3]) : 1};
  bind(pair.owner);
  std::printf("%zu bytes; a line there and back: %.0f ns\n", pair.bytes, pair.line_ns());
  pair.run(Way::kGet, "get");
  pair.run(Way::kPut, "put");
  pair.run(Way::kStream, "stream");
  std::printf(
      "turns: get %.2f us; two copies through the sender's cells %.2f, through cells that pass %.2f\n",
      pair.turns(false, false), pair.turns(true, false), pair.turns(true, true));
}
