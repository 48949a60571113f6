// Files of text, read and written whole by one rank.
#pragma once

#include <string>

namespace spam {

/// Throws Error, which names the file, if it cannot be read.
std::string read_text(const std::string& file);

/// Empty, or why the file could not be written. A reader sees what was there before or the whole new text.
std::string write_text(const std::string& file, const std::string& text);

}  // namespace spam
