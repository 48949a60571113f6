// Text for mpiexec's messages: format() is printf into a string, wrapped() breaks lines.
#pragma once

#include <string>

namespace tasuki::launch {

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

/// Blank separated words in lines of at most `width` columns, of which all but the first are indented.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width);

}  // namespace tasuki::launch
