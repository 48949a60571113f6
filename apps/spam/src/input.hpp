// Input files (TOML; apps/spam/examples/paper.toml is one, with comments).
#pragma once

#include <string>

#include "settings.hpp"

namespace spam {

/// Throws Error, "FILE:LINE: KEY: what is wrong, and what was expected": for a file that cannot be read, TOML
/// that is none, an unknown key or table, a missing one, a value of the wrong type, out of its range, or not
/// finite.
Settings read_input(const std::string& file);

/// The same from text that is there already; `file` is for messages.
Settings parse_input(const std::string& text, const std::string& file);

}  // namespace spam
