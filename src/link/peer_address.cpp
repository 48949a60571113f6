// Addresses as text: job, rank, place, and the bytes in the digits of base64 for names of files (RFC 4648).
#include "link/peer_address.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace tasuki {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr unsigned kBitsPerDigit = 6;
constexpr std::size_t digits_of(std::size_t bytes) {
  return (bytes * 8 + kBitsPerDigit - 1) / kBitsPerDigit;
}
static_assert(16 + 1 + 11 + 1 + 16 + 1 + digits_of(PeerAddress::kBytesMax) <= kAddressTextMax + 1);

}  // namespace

std::string to_text(const PeerAddress& address) {
  char head[64];
  std::snprintf(head, sizeof head, "%" PRIx64 ".%" PRId32 ".%" PRIx64 ".", address.name.job,
                address.name.rank, address.place);
  std::string text = head;
  unsigned held = 0;
  unsigned bits = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(address.length, PeerAddress::kBytesMax); ++i) {
    held = (held << 8 | static_cast<unsigned>(address.bytes[i])) & 0xffff;
    for (bits += 8; bits >= kBitsPerDigit; bits -= kBitsPerDigit)
      text += kDigits[held >> (bits - kBitsPerDigit) & 63];
  }
  if (bits != 0) text += kDigits[held << (kBitsPerDigit - bits) & 63];
  return text;
}

bool from_text(const std::string& text, PeerAddress* address) {
  *address = {};
  int length = 0;
  if (std::sscanf(text.c_str(), "%" SCNx64 ".%" SCNd32 ".%" SCNx64 ".%n", &address->name.job,
                  &address->name.rank, &address->place, &length) != 3 ||
      length == 0) {
    return false;
  }
  const std::size_t digits = text.size() - static_cast<std::size_t>(length);
  const std::size_t bytes = digits * kBitsPerDigit / 8;
  if (bytes > PeerAddress::kBytesMax || digits_of(bytes) != digits) return false;
  unsigned held = 0;
  unsigned bits = 0;
  for (const char digit : text.substr(static_cast<std::size_t>(length))) {
    const char* const found = digit != '\0' ? std::strchr(kDigits, digit) : nullptr;
    if (found == nullptr) return false;
    held = (held << kBitsPerDigit | static_cast<unsigned>(found - kDigits)) & 0xffff;
    bits += kBitsPerDigit;
    if (bits < 8) continue;
    bits -= 8;
    address->bytes[address->length++] = static_cast<std::byte>(held >> bits & 0xff);
  }
  return to_text(*address) == text;
}

}  // namespace tasuki
