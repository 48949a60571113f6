// Checks: what a rank with TASUKI_CHECK knows beside what every rank does, and what it refuses.
//
// From level 1 on it looks at the arguments of one call: parts of a buffer to receive into that lie upon each
// other, buffers of one call that overlap. At level 3 it keeps the memory that operations use which have been
// started and not been waited for (PendingBuffers), and refuses to start one that uses the same memory where
// MPI forbids it; and it reports a buffer that the program changed meanwhile, by a checksum when the
// operation was started and another when it is waited for.
//
// Below level 1 a Process has none of this: callers test Process::checks first.
//
// Ownership: Process::checks. Thread safety: the process lock guards it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "check/overlap.hpp"

namespace tasuki {

/// What an operation does with some memory until it is over.
struct BufferUse {
  Area area;
  bool writes = false;  // else it reads, and so may others
};

/// The memory of operations that are not over. Invariant: by_begin_ has an entry for each use of each
/// operation that has bytes, and longest_ is at least as long as each of their hulls.
class PendingBuffers {
 public:
  /// What is wrong with using `area` now; empty: nothing.
  std::string conflict(const Area& area, bool writes) const;

  /// An operation has been started. `key`: its request. `what`: "MPI_Isend (dest = 1, tag = 5)".
  void begin(const void* key, std::string what, std::vector<BufferUse> uses);
  /// One more use of an operation that has begun.
  void add(const void* key, BufferUse use);
  /// It is over. Returns what has changed that must not; empty: nothing.
  std::string end(const void* key);
  bool has(const void* key) const { return operations_.count(key) != 0; }

 private:
  struct Use : BufferUse {
    std::uint64_t checksum = 0;  // where it reads
  };
  struct Operation {
    std::string what;
    std::vector<Use> uses;
  };
  struct Entry {
    const void* key;
    std::size_t use;
  };

  std::unordered_map<const void*, Operation> operations_;
  std::multimap<std::uintptr_t, Entry> by_begin_;  // of the hull
  std::uintptr_t longest_ = 0;                     // bytes
};

class Checks {
 public:
  explicit Checks(Process& process) : process_(process) {}

  bool compares() const { return process_.config.checks(kCheckCompare); }
  bool keeps_buffers() const { return process_.config.checks(kCheckBuffers); }
  /// The MPI function that this rank is in.
  const char* call() const;

  /// `name`, an argument, is to be received into, or read.
  Code check_receive_buffer(const Area& area, const char* name) const;
  Code check_send_buffer(const Area& area, const char* name) const;
  /// Two buffers of one call, of which at least one is received into, must have no byte in common.
  Code check_apart(const Area& one, const char* one_name, const Area& other, const char* other_name) const;

  // At level 3; below it these do nothing.

  /// `what` has started `key`, which uses memory until it ends.
  void begin(const void* key, std::string what, std::vector<BufferUse> uses);
  void add(const void* key, BufferUse use);
  /// Returns what has been changed meanwhile as an error.
  Code end(const void* key);

  PendingBuffers pending;

 private:
  Code check_pending(const Area& area, bool writes, const char* name) const;

  Process& process_;
};

}  // namespace tasuki
