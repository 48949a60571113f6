// Settings: the one table of what a user can set. It serves the environment variables (read once, when MPI or
// MPI_T starts), the control variables of MPI_T (src/tool), `mpiexec --info` and docs/variables.md. A new
// setting is a field of Config and a line here; a value that is used from elsewhere than Process::config is
// put there by apply_setting() in src/tool.
//
// Pure: the table is constant, and everything else works on its arguments.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/variables/config.hpp"
#include "base/variables/variable.hpp"

namespace tasuki {

enum class SettingType : std::uint8_t { kBytes, kNumber, kFlag, kChoice };

/// Until when a setting can be changed.
enum class Change : std::uint8_t { kBeforeInit, kAnyTime };

struct Setting {
  const char* name;  // of the environment variable, and of the control variable
  SettingType type;
  std::int64_t Config::*value;
  std::int64_t min;  // of what a user may give; a default may lie below: it means "automatic"
  std::int64_t max;
  const EnumRow* choices;  // of a flag or a choice, else null
  Change change;
  Scope scope;
  Verbosity verbosity;
  Part part;
  const char* description;
};

/// A setting that is a text: an environment variable only.
struct TextSetting {
  const char* name;
  std::string Config::*value;
  const char* expected;
  const char* description;
};
std::span<const TextSetting> text_settings();

/// All other settings, in the order of their indices as control variables.
std::span<const Setting> settings();

/// The value of `text` for `setting`: "64k", "yes", "ring". Returns false when it is none.
bool parse_setting(const Setting& setting, const char* text, std::int64_t* value);
bool is_valid_setting(const Setting& setting, std::int64_t value);
/// What a user may write, in words: "a number of bytes, 4k to 64M, like 256k".
std::string expected_setting(const Setting& setting);
/// A value in words: "16k", "ring", "automatic".
std::string setting_text(const Setting& setting, std::int64_t value);

/// Reads the TASUKI_* variables of `environment` (as environ). Returns false and one line in `error` for a
/// bad value; leaves one line in `warning` for an unknown name, and for a former one
/// (base/variables/former_names.hpp).
bool read_settings(const char* const* environment, Config* config, std::string* error, std::string* warning);

/// What can be given where an initial error handler is asked for: a value of TASUKI_INITIAL_ERRHANDLER.
inline constexpr const char* kInitialErrhandlers =
    "mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return";
bool is_initial_errhandler(const char* name);

/// The same for TASUKI_HEAP.
inline constexpr const char* kHeaps = "auto, global or private";
bool is_heap(const char* name);

}  // namespace tasuki
