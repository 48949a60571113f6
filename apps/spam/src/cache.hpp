// How often the force loops of a rank miss the cache, as the paper's table 6 has it.
//
// Two things count it: cache.cpp asks the processor, by the kernel's performance events, where it has
// counters and the kernel lets a user read them; the program spam-cache-model (apps/spam/model) is spam with
// another implementation of this header, which follows each access of the threads through a cache of its own.
#pragma once

#include <memory>
#include <optional>

namespace spam {

struct CacheCounts {
  double references = 0;    // loads and stores of data; of the processor's counters: loads
  double misses = 0;        // those that the thread's cache did not have
  double lost = 0;          // misses of what the cache would have, had no other thread written to the line
  double transactions = 0;  // on the bus: misses, lines taken from other caches, lines written back
};

class CacheCounters {
 public:
  /// For as many threads of OpenMP.
  explicit CacheCounters(int threads);
  ~CacheCounters();

  void start();
  void stop();

  /// Between start() and stop(), of all threads; nothing where they cannot be counted.
  std::optional<CacheCounts> counts() const;
  /// "perf": only references and misses are known; "model".
  static const char* source();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spam
