// Key and card as bytes: behind those of the link of the own node, 16 bytes of key, the length of the
// endpoint's name, the name, and four words with a blank between them.
#include "link/ofi/other_process.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <vector>

#include "memory/shared_segment.hpp"

namespace tasuki::ofi {
namespace {

constexpr std::size_t kBefore = sizeof(SegmentAddress);

bool is_word(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char one) { return one > ' ' && one < 0x7f; });
}

}  // namespace

bool append(const Secret& key, const Card& card, PeerAddress* address) {
  std::string bytes(reinterpret_cast<const char*>(key.words), sizeof key.words);
  bytes += static_cast<char>(card.name.size());
  bytes += card.name;
  bytes += card.provider + " " + card.version + " ";
  const std::size_t room = PeerAddress::kBytesMax - kBefore;
  if (address->length != kBefore || card.name.size() > 255 || bytes.size() + 3 > room) return false;
  std::string interface = card.interface;
  std::string host = card.host;
  const std::size_t left = room - bytes.size() - 1;
  if (interface.size() + host.size() > left) interface.resize(std::min(interface.size(), left / 3));
  if (interface.size() + host.size() > left) host.resize(left - interface.size());
  bytes += interface + " " + host;
  std::memcpy(address->bytes.data() + kBefore, bytes.data(), bytes.size());
  address->length = static_cast<std::uint32_t>(kBefore + bytes.size());
  return true;
}

bool read_address(const PeerAddress& address, Secret* key, Card* card) {
  *card = {};
  if (address.length <= kBefore + sizeof key->words || address.length > PeerAddress::kBytesMax) return false;
  std::string bytes(reinterpret_cast<const char*>(address.bytes.data()) + kBefore, address.length - kBefore);
  std::memcpy(key->words, bytes.data(), sizeof key->words);
  bytes.erase(0, sizeof key->words);
  const auto name_bytes = static_cast<unsigned char>(bytes.front());
  if (name_bytes == 0 || bytes.size() < 1U + name_bytes) return false;
  card->name = bytes.substr(1, name_bytes);
  std::istringstream words(bytes.substr(1U + name_bytes));
  std::string more;
  words >> card->provider >> card->version >> card->interface >> card->host;
  return is_word(card->provider) && is_word(card->version) && is_word(card->interface) &&
         is_word(card->host) && !(words >> more);
}

}  // namespace tasuki::ofi
