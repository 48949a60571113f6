// The accesses to memory that threads make, as they make them. The sources to be followed are compiled with
// -fsanitize=thread, which puts a call before every load and store; these calls are ours (access_trace.cpp)
// instead of the sanitizer's. So what is followed is what the program does, and nothing has to be imitated.
//
// Each thread writes its own list. Threads are kept in step by periods: a new one begins at every barrier of
// OpenMP, and where a parallel region begins or ends.
#pragma once

#include <cstdint>
#include <functional>

namespace spam {

struct Access {
  std::uint64_t address;
  int bytes;
  bool write;
};

/// Calls `visit(thread, access)` for all that was recorded since the last time: period by period, in which
/// the threads take turns, an access each. REQUIRES: no parallel region is running.
void replay_accesses(const std::function<void(int thread, const Access&)>& visit);

}  // namespace spam
