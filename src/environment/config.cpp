// The TASUKI_* environment variables: one table, read once.
#include <strings.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>

#include "environment/environment.hpp"

extern char** environ;

namespace tasuki {
namespace {

/// A variable: its name and how its text becomes a value. `read` returns what was expected, null when all is
/// well.
struct Variable {
  const char* name;
  const char* (*read)(const char* text, Config* config);
};

/// A byte count: digits, then optionally k, M or G (powers of 1024).
bool read_bytes(const char* text, std::size_t* bytes) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (end == text || errno != 0 || text[0] == '-') return false;
  int shift = 0;
  if (*end == 'k' || *end == 'K') shift = 10;
  if (*end == 'm' || *end == 'M') shift = 20;
  if (*end == 'g' || *end == 'G') shift = 30;
  if (shift != 0) ++end;
  if (*end != '\0' || value > (ULLONG_MAX >> shift)) return false;
  *bytes = static_cast<std::size_t>(value << shift);
  return true;
}

bool read_flag(const char* text, bool* flag) {
  const char* const yes[] = {"1", "yes", "true", "on"};
  const char* const no[] = {"0", "no", "false", "off", ""};
  for (const char* word : yes) {
    if (strcasecmp(text, word) == 0) return *flag = true;
  }
  for (const char* word : no) {
    if (strcasecmp(text, word) == 0) return !(*flag = false);
  }
  return false;
}

const char* read_eager(const char* text, Config* config) {
  const bool valid =
      read_bytes(text, &config->eager_bytes_max) && config->eager_bytes_max <= (std::size_t{1} << 30);
  return valid ? nullptr : "a number of bytes, 0 to 1G, like 16k";
}

const char* read_ring(const char* text, Config* config) {
  const bool valid = read_bytes(text, &config->ring_bytes) && config->ring_bytes >= 4096 &&
                     config->ring_bytes <= (std::size_t{64} << 20);
  return valid ? nullptr : "a number of bytes, 4k to 64M, like 256k";
}

const char* read_spin(const char* text, Config* config) {
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || value < 0 || value > 1'000'000'000) {
    return "a number of polls, 0 to 1000000000";
  }
  config->spin_count = static_cast<int>(value);
  return nullptr;
}

const char* read_verbose(const char* text, Config* config) {
  return read_flag(text, &config->verbose) ? nullptr : "0 or 1";
}

const char* read_explain(const char* text, Config* config) {
  return read_flag(text, &config->explain) ? nullptr : "0 or 1";
}

constexpr Variable kVariables[] = {
    {"TASUKI_EAGER_BYTES_MAX", read_eager}, {"TASUKI_RING_BYTES", read_ring},
    {"TASUKI_SPIN_COUNT", read_spin},       {"TASUKI_VERBOSE", read_verbose},
    {"TASUKI_EXPLAIN", read_explain},
};

/// Set by mpiexec or read by other parts; not configuration.
constexpr const char* kOtherNames[] = {
    "TASUKI_JOB_FD",    "TASUKI_JOB_ID",  "TASUKI_JOB_PID", "TASUKI_RANK", "TASUKI_SIZE",
    "TASUKI_SINGLETON", "TASUKI_MPIEXEC", "TASUKI_CC",      "TASUKI_CXX",  "TASUKI_PREFIX",
};

}  // namespace

bool read_config(Config* config, std::string* error, std::string* warning) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    if (std::strncmp(*entry, "TASUKI_", 7) != 0 || equals == nullptr) continue;
    const std::string name(*entry, static_cast<std::size_t>(equals - *entry));
    bool known = false;
    for (const char* other : kOtherNames) known = known || name == other;
    for (const Variable& variable : kVariables) {
      if (name != variable.name) continue;
      known = true;
      const char* expected = variable.read(equals + 1, config);
      if (expected != nullptr) {
        *error = name + " = \"" + (equals + 1) + "\", expected " + expected;
        return false;
      }
    }
    if (!known) {
      *warning = name + " is set but unknown; known are";
      for (const Variable& variable : kVariables) *warning += std::string(" ") + variable.name;
    }
  }
  return true;
}

}  // namespace tasuki
