// Which files' code lies where in a process: what makes an address of it a place in a file, of which the
// debug information then tells the source line (launch/doctor/source_lines.hpp).
//
// A rank publishes its files once, on its CallBoard, so that its last call can be told after its death; of a
// process that lives the kernel tells all there are. Pure but for reading /proc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/call_board.hpp"

namespace tasuki {

/// Reads one line of /proc/PID/maps. False where it is not code of a file, or no such line.
bool read_mapping(std::string_view line, MappedFile* file);

/// The files of a process that lives; none where the system does not tell.
std::vector<MappedFile> mapped_files(int pid);

/// Those that a rank has published. Nothing of them is trusted: what makes no sense is left out.
std::vector<MappedFile> published_files(const CallBoard& board);

/// Publishes this process' files, those first that tell most: the program, the one that holds `caller` (who
/// calls MPI), others, the system's own libraries and ours. Once.
void publish_files(std::uint64_t caller, CallBoard* board);

}  // namespace tasuki
