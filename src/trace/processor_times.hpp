// What the processors did while a process was recorded: how long they were busy, with this process and with
// all others. Of a host on which others took much, a trace has waits that no call of the program explains.
#pragma once

#include <cstdint>
#include <string>

namespace tasuki::trace {

/// Since the host or the process began; 0: the system does not tell.
struct ProcessorTimes {
  std::int64_t host_busy_ns = 0;  // of all its processors together, in steps of the system's tick (10 ms)
  std::int64_t own_ns = 0;        // of this process
};

ProcessorTimes read_processor_times();

/// What came since then, as lines of a part's last block: busy_ns=…, own_ns=….
std::string text_since(const ProcessorTimes& before);

}  // namespace tasuki::trace
