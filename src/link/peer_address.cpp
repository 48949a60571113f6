// Addresses as text: job, rank, bytes.
#include "link/peer_address.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace tasuki {
namespace {

/// The value of a hexadecimal digit, or -1.
int digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

}  // namespace

std::string to_text(const PeerAddress& address) {
  char head[48];
  std::snprintf(head, sizeof head, "%" PRIx64 ".%" PRId32 ".", address.name.job, address.name.rank);
  std::string text = head;
  for (std::size_t i = 0; i < std::min<std::size_t>(address.length, PeerAddress::kBytesMax); ++i) {
    const auto byte = static_cast<unsigned>(address.bytes[i]);
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

bool from_text(const std::string& text, PeerAddress* address) {
  *address = {};
  int length = 0;
  if (std::sscanf(text.c_str(), "%" SCNx64 ".%" SCNd32 ".%n", &address->name.job, &address->name.rank,
                  &length) != 2 ||
      length == 0) {
    return false;
  }
  const std::size_t digits = text.size() - static_cast<std::size_t>(length);
  if (digits % 2 != 0 || digits / 2 > PeerAddress::kBytesMax) return false;
  for (std::size_t i = 0; i < digits / 2; ++i) {
    const int high = digit_value(text[static_cast<std::size_t>(length) + 2 * i]);
    const int low = digit_value(text[static_cast<std::size_t>(length) + 2 * i + 1]);
    if (high < 0 || low < 0) return false;
    address->bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  address->length = static_cast<std::uint32_t>(digits / 2);
  return to_text(*address) == text;
}

}  // namespace tasuki
