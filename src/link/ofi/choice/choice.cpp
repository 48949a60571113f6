// Which offers may be taken, and which of them goes first.
#include "link/ofi/choice/choice.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace tasuki::ofi {
namespace {

/// The best first.
constexpr const char* kProviders[] = {"cxi",           "efa", "opx", "psm3",
                                      "verbs;ofi_rxm", "tcp", "net", "tcp;ofi_rxm"};

/// Interfaces that reach no other host of a job, or through somebody's tunnel.
constexpr const char* kLeftOut[] = {"docker", "br-",     "virbr", "veth", "vmnet",
                                    "cni",    "flannel", "tun",   "tap"};

constexpr int kNotTaken = 1000;

/// Its place in kProviders, or kNotTaken.
int place_of(const std::string& provider) {
  const auto* const found = std::find(std::begin(kProviders), std::end(kProviders), provider);
  return found == std::end(kProviders) ? kNotTaken : static_cast<int>(found - std::begin(kProviders));
}

bool is_left_out(const Offer& offer) {
  return offer.address.is_loopback() || offer.address.is_link_local() || offer.interface == "lo" ||
         std::any_of(std::begin(kLeftOut), std::end(kLeftOut),
                     [&](const char* begin) { return offer.interface.starts_with(begin); });
}

bool is_provider(const std::string& wanted, const std::string& offered) {
  return wanted == offered || (wanted == "tcp" && offered == "net");
}

bool parse_address(const std::string& text, IpAddress* address) {
  for (const int bytes : {4, 16}) {
    if (inet_pton(bytes == 4 ? AF_INET : AF_INET6, text.c_str(), address->bytes) != 1) continue;
    address->bytes_used = bytes;
    return true;
  }
  return false;
}

/// Whether the first `bits` bits of the two are the same.
bool share_bits(const IpAddress& one, const IpAddress& other, int bits) {
  if (one.bytes_used != other.bytes_used || bits > one.bytes_used * 8) return false;
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (std::memcmp(one.bytes, other.bytes, whole) != 0) return false;
  const int rest = bits % 8;
  return rest == 0 || (one.bytes[whole] ^ other.bytes[whole]) >> (8 - rest) == 0;
}

/// "net on eth0, tcp;ofi_rxm on eth0".
std::string list_of(const std::vector<Offer>& offers) {
  std::string text;
  for (const Offer& offer : offers) {
    const std::string one = offer.provider + " on " + (offer.interface.empty() ? "?" : offer.interface);
    if (text.find(one) != std::string::npos || text.size() > 300) continue;
    text += (text.empty() ? "" : ", ") + one;
  }
  return text.empty() ? "nothing" : text;
}

/// Whether the launcher's address of this host says which of the offers over TCP can be taken.
bool has_known_address(const std::vector<Offer>& offers, const Wish& wish) {
  return !wish.address.empty() && !wish.one_machine &&
         std::any_of(offers.begin(), offers.end(), [&](const Offer& offer) {
           return is_meant(wish.address, offer) && !offer.address.is_loopback();
         });
}

/// The smaller the better; kNotTaken and above: not to be taken.
int weight_of(const Offer& offer, const Wish& wish, bool known_address) {
  int weight = place_of(offer.provider);
  if (!wish.provider.empty()) {
    if (!is_provider(wish.provider, offer.provider)) return kNotTaken;
    weight = offer.provider == wish.provider ? 0 : 1;
  }
  if (weight >= kNotTaken) return kNotTaken;
  if (!wish.interface.empty()) {
    if (!is_meant(wish.interface, offer)) return kNotTaken;
  } else if (known_address && weight >= place_of("tcp")) {
    if (!is_meant(wish.address, offer)) return kNotTaken;
  } else if (offer.address.bytes_used != 0) {
    if (wish.one_machine ? !offer.address.is_loopback() : is_left_out(offer)) return kNotTaken;
  } else if (wish.one_machine && wish.provider.empty()) {
    return kNotTaken;  // hardware, which need not reach the own machine
  }
  return weight * 2 + (offer.address.bytes_used == 16 ? 1 : 0);
}

/// Of the offers with that weight, which are of one provider, the interfaces that are the nearest; at least
/// one. Those over TCP are not alike: which of them reaches the other hosts is not known here.
std::vector<int> nearest_of(const std::vector<Offer>& offers, const std::vector<int>& weights, int weight) {
  std::vector<int> nearest;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (weights[i] != weight) continue;
    const auto is_same = [&](int other) {
      return offers[static_cast<std::size_t>(other)].interface == offers[i].interface;
    };
    if (!nearest.empty() && (place_of(offers[i].provider) >= place_of("tcp") ||
                             std::any_of(nearest.begin(), nearest.end(), is_same)))
      continue;
    const int least = nearest.empty() ? INT_MAX : offers[static_cast<std::size_t>(nearest.front())].nearness;
    if (offers[i].nearness < least) nearest.clear();
    if (offers[i].nearness <= least) nearest.push_back(static_cast<int>(i));
  }
  return nearest;
}

}  // namespace

bool IpAddress::is_loopback() const {
  static constexpr unsigned char kSix[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return bytes_used == 4 ? bytes[0] == 127 : bytes_used == 16 && std::memcmp(bytes, kSix, 16) == 0;
}

bool IpAddress::is_link_local() const {
  if (bytes_used == 4) return bytes[0] == 169 && bytes[1] == 254;
  return bytes_used == 16 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

bool is_meant(const std::string& interface, const Offer& offer) {
  if (interface == offer.interface) return true;
  const std::size_t slash = interface.find('/');
  IpAddress wanted;
  if (!parse_address(interface.substr(0, slash), &wanted)) return false;
  if (slash == std::string::npos) return wanted == offer.address;
  char* end = nullptr;
  const long bits = std::strtol(interface.c_str() + slash + 1, &end, 10);
  return end != interface.c_str() + slash + 1 && *end == '\0' && bits >= 0 && bits <= 128 &&
         share_bits(wanted, offer.address, static_cast<int>(bits));
}

bool choose_offer(const std::vector<Offer>& offers, const Wish& wish, Choice* choice, std::string* error) {
  int least = kNotTaken;
  const bool known_address = has_known_address(offers, wish);
  std::vector<int> weights;
  for (const Offer& offer : offers) {
    weights.push_back(weight_of(offer, wish, known_address));
    least = std::min(least, weights.back());
  }
  if (least == kNotTaken) {
    const std::string wanted =
        wish.provider.empty() && wish.interface.empty()
            ? std::string("for messages between ") + (wish.one_machine ? "virtual nodes" : "hosts")
            : (wish.provider.empty() ? "" : "TASUKI_NET_PROVIDER=" + wish.provider) +
                  (wish.provider.empty() || wish.interface.empty() ? "" : " and ") +
                  (wish.interface.empty() ? "" : "TASUKI_NET_INTERFACE=" + wish.interface);
    *error = "libfabric offers no network " + wanted + "; it offers " + list_of(offers);
    return false;
  }
  const std::vector<int> nearest = nearest_of(offers, weights, least);
  choice->index = nearest[static_cast<std::size_t>(wish.place) % nearest.size()];
  choice->reason = !wish.provider.empty() ? "TASUKI_NET_PROVIDER names the provider"
                                          : "it is the first of those that are there";
  choice->reason += !wish.interface.empty() ? ", TASUKI_NET_INTERFACE the interface"
                    : known_address         ? ", and the launcher reached this host at " + wish.address
                    : wish.one_machine      ? ", the nodes are virtual ones of this machine"
                                            : "";
  const std::size_t more = nearest.size() - 1;
  const int found = offers[static_cast<std::size_t>(choice->index)].nearness;
  if (found != kNearnessUnknown) choice->reason += ", its card is at distance " + std::to_string(found);
  if (more != 0)
    choice->reason += ", and the ranks of this node share it and " + std::to_string(more) + " more";
  return true;
}

}  // namespace tasuki::ofi
