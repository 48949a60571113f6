// The file that a machine's parameters come from: JSON, at the path in TASUKI_TUNING_FILE. docs/tuning.md
// describes it for users, parameter by parameter.
//
//   {"tasuki_tuning": 1, "machine": "…", "messages": {"cache": {"software_ns": 400, …}, …}, "node_segment":
//   {…}, …,
//    "choices": {"bcast of 1024 to 8191 bytes among 4 ranks": "chain/4096",
//                "bcast of 0 to 64 bytes among 4 ranks on 2 nodes": "binomial", …}, "made_on": {…}}
//
// What it does not name keeps the built-in value. A file that is bad in any place is refused as a whole, with
// the line and the reason: half a table would mix two machines.
//
// All ranks of a job have to choose by the same parameters, whatever each finds at the path. So mpiexec reads
// the file once and hands its text on (job/local/job_segment.hpp).
//
// A table that says on which machine it was made holds on that machine alone, since all of it was measured
// there. One that names no machine was written by hand, and holds everywhere.
//
// Pure, but for read_table() and load_table(), which read the file, and this_machine().
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tuning/measured.hpp"
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

/// What a table says of the machine that it was made on, field by field; empty and 0 where it says nothing.
struct MadeOn {
  std::string processor;  // as /proc/cpuinfo names it
  int processors = 0;     // that are switched on
  std::string library;    // its version: another may have other formulas
};
MadeOn this_machine();

/// In which way a table made there is foreign here; empty: it is not.
std::string foreign_by(const MadeOn& made_on, const MadeOn& here);

struct Table {
  Parameters parameters;
  std::vector<MeasuredChoice> choices;
  MadeOn made_on;
};

/// Takes the table of `text`. Returns false, with the reason, and leaves `table` alone when it is none that
/// this library understands.
bool parse_table(const std::string& text, Table* table, std::string* error);

/// What a file holds. Returns false, with the reason, when it cannot be read or is too long for a table.
bool read_table(const std::string& path, std::string* text, std::string* error);

/// Both, and whether it is a table for this machine, unless foreign ones are allowed; the reason begins with
/// the file's name.
bool load_table(const std::string& path, bool foreign_allowed, Table* table, std::string* error);

}  // namespace tasuki
