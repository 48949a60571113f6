// Strings in JSON.
#pragma once

#include <string>
#include <string_view>

namespace tasuki {

/// The text as a string of JSON, quotes included. Bytes that are no ASCII go as they are: JSON wants them to
/// be UTF-8.
inline std::string json_string(std::string_view text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string made = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code == 0x7f) {
      made += {'\\', 'u', '0', '0', kDigits[code >> 4], kDigits[code & 0xf]};
    } else {
      if (letter == '"' || letter == '\\') made += '\\';
      made += letter;
    }
  }
  return made + '"';
}

}  // namespace tasuki
