// OtherProcess: a process of another job on another host, as OfiLink knows it; and what a PeerAddress says of
// the network: a key, which whoever is to send there must know, and a card.
//
// Pure. Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "link/ofi/card.hpp"
#include "link/ofi/frame.hpp"
#include "link/peer_address.hpp"

namespace tasuki::ofi {

struct OtherProcess {
  PeerAddress address;
  Secret own_secret;                // that this rank's greeting tells it
  Secret key;                       // of its address: for kMeet alone
  bool ended = false;               // nothing goes there any more
  bool died = false;                // and that was not in good order
  bool told = false;                // the sink knows of its end
  bool finishing = false;           // it has said so
  std::uint32_t finishing_at = 0;   // the number of the next packet when it did
  std::string trouble;              // why it ended
  std::unique_ptr<Probe> lifeline;  // breaks when the process dies, or its host
  std::int64_t broken_ns = 0;       // when it did; 0: it has not
};

/// Puts key and card behind what the address holds. Of a long card the names of interface and host are cut.
/// Returns false when there is no room.
bool append(const Secret& key, const Card& card, PeerAddress* address);
/// Reads them. Returns false when the address says nothing of a network, or nothing that can be right.
bool read_address(const PeerAddress& address, Secret* key, Card* card);

}  // namespace tasuki::ofi
