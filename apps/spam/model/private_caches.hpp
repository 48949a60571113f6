// Caches of threads that share memory: one for each thread, set-associative, the least recently used line
// goes first, write-back, kept coherent by invalidation (MESI). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cache.hpp"

namespace spam {

struct CacheShape {
  // The paper's machine: the second-level cache of a Pentium II Xeon.
  std::size_t bytes = 1 << 20, line_bytes = 32, ways = 4;
};

class PrivateCaches {
 public:
  /// REQUIRES: bytes is a multiple of line_bytes * ways.
  PrivateCaches(CacheShape shape, int threads);

  /// What one thread does to one line: address / line_bytes. `counted`: in counts().
  void access(int thread, std::uint64_t line, bool write, bool counted);

  const CacheShape& shape() const { return shape_; }
  const CacheCounts& counts() const { return counts_; }

 private:
  /// kLost: another thread has written to the line since.
  enum class State : std::uint8_t { kEmpty, kLost, kShared, kExclusive, kModified };
  struct Way {
    std::uint64_t line = 0;
    State state = State::kEmpty;
  };

  Way* set_of(int thread, std::uint64_t line) {
    return &ways_[(static_cast<std::size_t>(thread) * sets_ + line % sets_) * shape_.ways];
  }
  Way* find(int thread, std::uint64_t line);
  bool take_from_others(int thread, std::uint64_t line, bool write);
  bool make_room(Way* set, std::uint64_t line);

  CacheShape shape_;
  int threads_;
  std::size_t sets_;
  std::vector<Way> ways_;  // by thread, set and age: the youngest first
  CacheCounts counts_;
};

}  // namespace spam
