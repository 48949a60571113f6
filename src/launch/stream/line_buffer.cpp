// Cutting and labelling.
#include "launch/stream/line_buffer.hpp"

namespace tasuki::launch {

std::string_view LineBuffer::available() const {
  const std::string_view bytes = bytes_;
  const std::size_t newline = bytes.rfind('\n');
  const std::size_t whole = newline == std::string_view::npos ? 0 : newline + 1;
  return bytes.size() - whole >= kPartBytesMax ? bytes : bytes.substr(0, whole);
}

std::string with_labels(std::string_view text, std::string_view label, bool continues) {
  std::string out;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::size_t length = newline == std::string_view::npos ? text.size() : newline + 1;
    if (!continues) out += label;
    continues = false;
    out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace tasuki::launch
