// Text for mpiexec's messages: format() is printf into a string, wrapped() breaks lines, byte_text() writes
// sizes.
#pragma once

#include <cstdint>
#include <string>

namespace tasuki::launch {

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

/// Blank separated words in lines of at most `width` columns, of which all but the first are indented.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width);

/// "1.5 MiB"; below 1 KiB "17 B".
std::string byte_text(double bytes);
inline std::string byte_text(std::uint64_t bytes) {
  return byte_text(static_cast<double>(bytes));
}

}  // namespace tasuki::launch
