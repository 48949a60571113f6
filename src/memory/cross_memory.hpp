// Reading another process' private memory by the system's help (process_vm_readv, cross-memory attach).
//
// Whether a process may do so nobody can tell beforehand: containers forbid it by seccomp, systems by
// ptrace's rules. So it is tried once for each peer, on a few bytes that only that peer has: its mark. That
// tells also whether the process number means the same here and there, which it does not in different pid
// namespaces.
//
// Thread safety: none; the process lock guards it.
//
// Invariants:
//  1. read() reads nothing but the memory of the process whose mark was found.
//  2. What was refused once is not asked for again.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace tasuki {

/// A process, and what tells it from all others: the number at an address of its own.
struct ProcessMark {
  std::int32_t pid = 0;  // 0: not known
  std::uint64_t address = 0;
  std::uint64_t value = 0;
};

/// The value of a rank's mark: no other rank has it, and a process of no job would by accident only.
constexpr std::uint64_t mark_value(std::uint64_t job_id, int rank) {
  return (job_id ^ (static_cast<std::uint64_t>(rank) + 1)) * 0x9e3779b97f4a7c15u;
}

/// A peer's process, as far as its memory can be read.
class CrossMemory {
 public:
  /// Whether probe() has found that reading is allowed, and no read() has been refused since.
  bool is_allowed() const { return state_ == State::kAllowed; }

  /// Tries to read the peer's mark, if nobody has yet. Returns whether reading is allowed.
  bool probe(const ProcessMark& mark);

  /// Reads `bytes` bytes, of which both lists have as many. False: not all could be read, and what lies in
  /// the local memory is undefined. REQUIRES: is_allowed().
  bool read(const iovec* local, std::size_t local_count, const iovec* remote, std::size_t remote_count,
            std::size_t bytes);

 private:
  enum class State : std::uint8_t { kUnknown, kAllowed, kRefused };
  std::int32_t pid_ = 0;
  State state_ = State::kUnknown;
};

}  // namespace tasuki
