// Escaping, cutting, and back.
#include "job/wire/value_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace tasuki::wire {
namespace {

constexpr char kDigits[] = "0123456789abcdef";
constexpr std::size_t kPiecesMax = 99'999;

bool is_plain(char one) {
  return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') ||
         (one != '\0' && std::strchr("+-./_", one) != nullptr);
}

void add_escaped(std::string_view plain, std::string* text) {
  for (const char one : plain) {
    if (is_plain(one)) {
      *text += one;
    } else {
      const auto byte = static_cast<unsigned char>(one);
      *text += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
}

bool add_unescaped(std::string_view text, std::string* plain) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (!is_plain(text[i])) return false;
      *plain += text[i];
      continue;
    }
    unsigned byte = 0;
    if (text.size() - i < 3) return false;
    const char* const end = text.data() + i + 3;
    if (std::from_chars(end - 2, end, byte, 16).ptr != end) return false;
    *plain += static_cast<char>(byte);
    i += 2;
  }
  return true;
}

}  // namespace

std::string text_of(const Values& values) {
  std::string text;
  for (const auto& [key, value] : values) {
    add_escaped(key, &text);
    text += ':';
    add_escaped(value, &text);
    text += ',';
  }
  return text;
}

bool values_of(std::string_view text, Values* values) {
  while (!text.empty()) {
    const std::size_t colon = text.find(':');
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos || colon > comma) return false;
    std::string key;
    std::string value;
    if (!add_unescaped(text.substr(0, colon), &key) ||
        !add_unescaped(text.substr(colon + 1, comma - colon - 1), &value))
      return false;
    values->emplace(std::move(key), std::move(value));
    text.remove_prefix(comma + 1);
  }
  return true;
}

std::vector<std::string> pieces_of(const std::string& text, std::size_t piece_bytes_max) {
  constexpr std::size_t kCountBytes = 6;  // of "99999+"
  const std::size_t first = std::min(text.size(), piece_bytes_max - kCountBytes);
  const std::size_t more = (text.size() - first + piece_bytes_max - 1) / piece_bytes_max;
  std::vector<std::string> pieces{std::to_string(more + 1) + "+" + text.substr(0, first)};
  for (std::size_t i = 0; i < more; ++i)
    pieces.push_back(text.substr(first + i * piece_bytes_max, piece_bytes_max));
  return pieces;
}

std::size_t take_piece_count(std::string* first_piece) {
  std::size_t count = 0;
  const char* const begin = first_piece->data();
  const char* const end = begin + first_piece->size();
  const auto [after, error] = std::from_chars(begin, end, count);
  if (error != std::errc() || after == end || *after != '+' || count > kPiecesMax) return 0;
  first_piece->erase(0, static_cast<std::size_t>(after - begin) + 1);
  return count;
}

}  // namespace tasuki::wire
