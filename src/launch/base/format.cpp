// format() is one vsnprintf to measure and one to write.
#include "launch/base/format.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <iterator>

namespace tasuki::launch {

std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::size_t length = end - begin;
    if (length > 0) {
      if (column > indent && column + 1 + length > width) {
        out += "\n" + std::string(indent, ' ');
        column = indent;
      }
      if (column > indent) out += ' ';
      column += length + (column > indent ? 1 : 0);
      out.append(text, begin, length);
    }
    begin = end + 1;
  }
  return out;
}

std::string byte_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1023.5 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return unit == 0 ? format("%.0f B", bytes)
                   : format(bytes < 9.995   ? "%.2f %s"
                            : bytes < 99.95 ? "%.1f %s"
                                            : "%.0f %s",
                            bytes, kUnits[unit]);
}

}  // namespace tasuki::launch
