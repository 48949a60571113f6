// The first line of /proc/stat is of all processors: user, nice, system, idle, iowait, irq, softirq, steal,
// in ticks.
#include "trace/processor_times.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace tasuki::trace {
namespace {

std::int64_t nanoseconds(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1000;
}

std::int64_t host_busy_ns() {
  std::FILE* file = std::fopen("/proc/stat", "re");
  if (file == nullptr) return 0;
  unsigned long long user = 0, nice = 0, system = 0, irq = 0, softirq = 0, steal = 0;
  const int found = std::fscanf(file, "cpu %llu %llu %llu %*u %*u %llu %llu %llu", &user, &nice, &system,
                                &irq, &softirq, &steal);
  std::fclose(file);
  const long ticks = sysconf(_SC_CLK_TCK);
  if (found < 3 || ticks <= 0) return 0;
  return static_cast<std::int64_t>(user + nice + system + irq + softirq + steal) * (1'000'000'000 / ticks);
}

}  // namespace

ProcessorTimes read_processor_times() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return {host_busy_ns(), nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime)};
}

std::string text_since(const ProcessorTimes& before) {
  const ProcessorTimes now = read_processor_times();
  if (now.host_busy_ns == 0 || before.host_busy_ns == 0) return {};
  return "busy_ns=" + std::to_string(now.host_busy_ns - before.host_busy_ns) +
         "\nown_ns=" + std::to_string(now.own_ns - before.own_ns) + "\n";
}

}  // namespace tasuki::trace
