// What TASUKI_EXPLAIN says about files: which hints took no effect and why, and which ways accesses took. One
// line on standard error for each case, of rank 0 or of all ranks of the job.
//
// Thread safety: the process lock.
//
// Invariant: at most kFileLinesMax lines are written by a process, no two of them alike, and a number is kept
// of each.
#pragma once

#include <cstddef>

#include "io/file/file.hpp"

namespace tasuki {

inline constexpr std::size_t kFileLinesMax = 256;

/// Whether this rank is to explain. What is costly to find out is asked for behind this.
bool explains_files(const Process& process);

/// 'tasuki: rank 0: file "name": …', as of printf and without an end of line; nothing without TASUKI_EXPLAIN.
[[gnu::format(printf, 2, 3)]] void explain_file(const File& file, const char* format, ...);

}  // namespace tasuki
