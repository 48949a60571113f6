// The file that a machine's parameters come from: JSON, told by TASUKI_TUNING_FILE. docs/tuning.md describes
// it for users, parameter by parameter.
//
//   {"tasuki_tuning": 1, "machine": "…", "messages": {"cache": {"software_ns": 400, …}, …}, "stage": {…}, …}
//
// What it does not name keeps the built-in value. A file that is bad in any place is refused as a whole, with
// the line and the reason: half a table would be a guess that nobody made.
//
// All ranks of a job have to choose by the same parameters, whatever each finds at the path. So mpiexec reads
// the file once and hands its text on (runtime/local/job_segment.hpp).
//
// Pure, but for read_table() and load_parameters(), which read the file.
#pragma once

#include <span>
#include <string>

#include "tuning/parameters.hpp"

namespace tasuki {

inline constexpr int kTuningVersion = 1;

/// Before the reason, where mpiexec could not read the file: in the place of its text.
inline constexpr char kUnreadable = '!';

/// A parameter as it is named in the file. Its value must lie within `min` and `max`.
struct ParameterRow {
  const char* path;  // "messages.cache.software_ns"
  double& (*field)(Parameters& parameters);
  double min;
  double max;
  const char* description;
};
std::span<const ParameterRow> parameter_table();

/// Takes the parameters of `text`. Returns false, with the reason, and leaves them alone when it is no table
/// that this library understands.
bool parse_parameters(const std::string& text, Parameters* parameters, std::string* error);

/// What a file holds. Returns false, with the reason, when it cannot be read or is too long for a table.
bool read_table(const std::string& path, std::string* text, std::string* error);

/// Both; the reason begins with the file's name.
bool load_parameters(const std::string& path, Parameters* parameters, std::string* error);

}  // namespace tasuki
