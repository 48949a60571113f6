// The stack of a process that says nothing of itself: read from outside, by ptrace, where that is permitted.
#pragma once

#include <cstdint>
#include <vector>

namespace tasuki::source_lines {

inline constexpr int kFramesMax = 32;

/// Addresses in the calls of the process' first thread, inner ones first; none where that cannot be had. The
/// process is stopped meanwhile, some milliseconds; it goes on afterwards as it was, also when this program
/// is killed in between.
std::vector<std::uint64_t> read_stack(int pid);

}  // namespace tasuki::source_lines
