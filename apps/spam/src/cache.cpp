// The processor's own counters, of user space, by perf_event_open(2). Virtual machines often have none.
#include "cache.hpp"

#include <linux/perf_event.h>
#include <omp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace spam {
namespace {

constexpr std::uint64_t kDataReads =
    PERF_COUNT_HW_CACHE_L1D | (PERF_COUNT_HW_CACHE_OP_READ << 8) | (PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16);

/// Of the calling thread, not yet running; -1 where there is no such counter.
int open_counter(std::uint32_t type, std::uint64_t config) {
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = type;
  event.config = config;
  event.disabled = 1;
  event.exclude_kernel = 1;
  event.exclude_hv = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
}

double sum(const std::vector<int>& files) {
  double total = 0;
  for (int file : files) {
    std::uint64_t count = 0;
    if (read(file, &count, sizeof count) == sizeof count) total += static_cast<double>(count);
  }
  return total;
}

}  // namespace

struct CacheCounters::State {
  std::vector<int> references, misses;  // of each thread

  bool complete() const {
    for (const auto* files : {&references, &misses})
      for (int file : *files)
        if (file < 0) return false;
    return true;
  }
  void tell_all(unsigned long request) const {
    for (const auto* files : {&references, &misses})
      for (int file : *files) ioctl(file, request, 0);
  }
};

CacheCounters::CacheCounters(int threads) : state_(std::make_unique<State>()) {
  state_->references.assign(static_cast<std::size_t>(threads), -1);
  state_->misses.assign(static_cast<std::size_t>(threads), -1);
#pragma omp parallel num_threads(threads)
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    state_->references[thread] = open_counter(PERF_TYPE_HW_CACHE, kDataReads);
    state_->misses[thread] = open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES);
  }
}

CacheCounters::~CacheCounters() {
  for (const auto* files : {&state_->references, &state_->misses})
    for (int file : *files)
      if (file >= 0) close(file);
}

void CacheCounters::start() {
  if (state_->complete()) state_->tell_all(PERF_EVENT_IOC_ENABLE);
}

void CacheCounters::stop() {
  if (state_->complete()) state_->tell_all(PERF_EVENT_IOC_DISABLE);
}

std::optional<CacheCounts> CacheCounters::counts() const {
  if (!state_->complete()) return std::nullopt;
  return CacheCounts{sum(state_->references), sum(state_->misses), 0, 0};
}

const char* CacheCounters::source() {
  return "perf";
}

}  // namespace spam
