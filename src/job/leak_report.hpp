// What a rank leaves behind when it ends MPI, as TASUKI_CHECK=3 tells it: objects that were not freed,
// requests that were not completed, messages that were not received. mpiexec collects it from all ranks and
// tells equal things once (launch/report/leak_summary.hpp); a program that runs alone tells it itself.
//
// Pure; its way to mpiexec is that of a request to spawn (spawn_request.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tasuki {

/// Things of one kind that one place in the program left behind.
struct Leak {
  std::string object;      // "communicator 'rows'", "message from rank 2 (tag 5, 80 bytes, MPI_COMM_WORLD)"
  std::string verb;        // how it came into being: "made", "begun"; empty: the call is not known
  std::string function;    // that did it: "MPI_Comm_split"
  std::string trouble;     // "not freed", "not completed", "not received"
  std::uint64_t site = 0;  // where the function was called, an address of the rank's; 0: unknown
  std::uint32_t count = 1;

  bool operator==(const Leak& other) const = default;
};

struct LeakReport {
  std::uint64_t job_id = 0;
  std::int32_t rank = 0;
  std::vector<Leak> leaks;
};

inline constexpr std::uint32_t kLeaksMax = 1'000;  // in one report; of different kinds or places

/// Adds `leak`, to what is the same but for the count where there is such.
void add_leak(std::vector<Leak>* leaks, Leak leak);

/// "communicator 'rows', made by MPI_Comm_split at solver.c:88, not freed"; `place` may be empty.
std::string leak_text(const Leak& leak, const std::string& place);

/// The first line of the report; the leaks follow, each on a line of its own.
inline constexpr const char* kLeakHeading = "the program left behind:";

std::string encode(const LeakReport& report);
/// Returns false for what encode() never made.
bool decode(const std::string& message, LeakReport* report);

}  // namespace tasuki
