// process_vm_readv, and its refusals.
#include "memory/cross_memory.hpp"

#include <cerrno>

namespace tasuki {

bool CrossMemory::probe(const ProcessMark& mark) {
  if (state_ != State::kUnknown) return is_allowed();
  state_ = State::kRefused;
  if (mark.pid <= 0 || mark.address == 0) return false;
  std::uint64_t found = 0;
  const iovec local{&found, sizeof found};
  const iovec remote{reinterpret_cast<void*>(mark.address), sizeof found};
  const int errno_before = errno;
  const ssize_t got = process_vm_readv(mark.pid, &local, 1, &remote, 1, 0);
  errno = errno_before;
  if (got != static_cast<ssize_t>(sizeof found) || found != mark.value) return false;
  pid_ = mark.pid;
  state_ = State::kAllowed;
  return true;
}

bool CrossMemory::read(const iovec* local, std::size_t local_count, const iovec* remote,
                       std::size_t remote_count, std::size_t bytes) {
  const int errno_before = errno;
  const ssize_t got = process_vm_readv(pid_, local, local_count, remote, remote_count, 0);
  const int reason = errno;
  errno = errno_before;
  if (got == static_cast<ssize_t>(bytes)) return true;
  // Memory that cannot be read so (a device's) says nothing about the peer's other memory.
  if (got < 0 && reason != EFAULT) state_ = State::kRefused;
  return false;
}

}  // namespace tasuki
