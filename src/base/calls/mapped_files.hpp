// The files whose code a process has mapped, and where: with them an address becomes a place in a file, and
// the debug information gives its source line (launch/doctor/source_lines.hpp).
//
// A rank publishes its files once, on its CallBoard, so that its last call can be located after its death; of
// a living process the kernel lists them all. Pure but for reading /proc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/calls/call_board.hpp"

namespace tasuki {

/// Reads one line of /proc/PID/maps. False where it is not code of a file, or no such line.
bool read_mapping(std::string_view line, MappedFile* file);

/// The files of a living process; none where the system does not show them.
std::vector<MappedFile> mapped_files(int pid);

/// Those that a rank has published. Nothing of them is trusted: what makes no sense is left out.
std::vector<MappedFile> published_files(const CallBoard& board);

/// Publishes this process' files, the most useful first: the program, the one that holds `caller` (the code
/// that calls MPI), others, the system's own libraries and ours. Once.
void publish_files(std::uint64_t caller, CallBoard* board);

}  // namespace tasuki
