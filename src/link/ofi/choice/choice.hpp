// The choice of a provider and an interface among those that libfabric offers: a pure function.
//
// An *offer* is a provider (the code for a kind of network) on an interface. Hardware goes before TCP, TCP
// before TCP under the emulation of libfabric (ofi_rxm). Addresses that reach no other host, and interfaces
// that containers and virtual machines make, are left out unless the user names them. Of several cards of one
// kind a rank takes the nearest to its processors, and those of a node take the equally near ones in turn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "link/ofi/choice/copying.hpp"
#include "link/ofi/choice/nearness.hpp"

namespace tasuki::ofi {

/// An address of the internet, version 4 or 6.
struct IpAddress {
  int bytes_used = 0;  // 4 or 16; 0: none
  unsigned char bytes[16] = {};

  bool is_loopback() const;
  bool is_link_local() const;
  bool operator==(const IpAddress&) const = default;
};

struct Offer {
  std::string provider;             // as "net" or "tcp;ofi_rxm"
  std::string interface;            // as "eth0"
  IpAddress address;                // of the interface; none where the network has other addresses
  int nearness = kNearnessUnknown;  // of the card to this rank's processors; the smaller the nearer
};

/// What the user wants; empty: it is chosen.
struct Wish {
  std::string provider;      // a name of libfabric's; "tcp" also means "net", its name in 1.17
  std::string interface;     // a name, an address, or a subnet as 10.0.0.0/16
  std::string address;       // by which other hosts reach this one, as the launcher found; of use for TCP
  bool one_machine = false;  // the nodes are virtual ones: the loopback interface is enough
  int place = 0;             // of this rank among those of its node: they share what is equally near
  CopyWish copying;
};

struct Choice {
  int index = -1;  // of the offer
  std::string reason;
};

/// Returns false and one line in `error` when no offer fits.
bool choose_offer(const std::vector<Offer>& offers, const Wish& wish, Choice* choice, std::string* error);

/// Whether `interface`, as in Wish, means that offer.
bool is_meant(const std::string& interface, const Offer& offer);

}  // namespace tasuki::ofi
