// The doorbell's system calls: membarrier and futex.
#include "node/doorbell.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace tasuki::shm {

void doorbell_open(Doorbell& bell, bool use_membarrier) {
  const bool registered =
      use_membarrier && syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
  bell.has_membarrier.store(registered ? 1 : 0, std::memory_order_seq_cst);
}

std::uint32_t doorbell_arm(Doorbell& bell) {
  const std::uint32_t ticket = bell.rings.load(std::memory_order_seq_cst);
  bell.sleeping.store(1, std::memory_order_seq_cst);
  if (bell.has_membarrier.load(std::memory_order_relaxed) != 0) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
  }
  return ticket;
}

bool doorbell_sleep(Doorbell& bell, std::uint32_t ticket, std::int64_t timeout_ns) {
  timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  // Returns at once when `rings` is no longer `ticket`. A spurious return is harmless: the caller polls.
  const long result = syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell.rings), FUTEX_WAIT, ticket,
                              &timeout, nullptr, 0);
  return result == 0 || errno != ETIMEDOUT || bell.rings.load(std::memory_order_relaxed) != ticket;
}

void doorbell_ring(Doorbell& bell) {
  bell.sleeping.store(0, std::memory_order_seq_cst);
  bell.rings.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell.rings), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tasuki::shm
