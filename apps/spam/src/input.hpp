// Input files (TOML; apps/spam/examples/paper.toml is one, with comments), and what the command line says
// instead of them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "settings.hpp"

namespace spam {

/// A value from the command line, in the place of the file's.
struct Override {
  std::string option;  // "--mapping", for messages
  std::string key;     // "parallel.mapping"
  std::variant<std::int64_t, std::string> value;
};

/// Throws Error, "FILE:LINE: KEY: what is wrong, and what was expected": for TOML that is none, an unknown
/// key or table, a missing one, a value of the wrong type, out of its range, or not finite. `file` is for
/// messages. What is wrong with an override is told of its option.
Settings parse_input(const std::string& text, const std::string& file,
                     const std::vector<Override>& overrides = {}, bool unsafe = false);

}  // namespace spam
