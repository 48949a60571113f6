// The networks between hosts that this machine offers, for people: what `mpiexec --info` says of them. And
// what the settings want of a network, which the choice among them is made by.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "base/variables/config.hpp"
#include "link/ofi/choice/choice.hpp"

namespace tasuki {

/// One provider of libfabric's.
struct NetworkOffer {
  std::string provider;                 // "net"
  std::string version;                  // of the provider
  std::vector<std::string> interfaces;  // that it offers
  std::string promises;                 // sentences
  std::string ways;                     //
  bool taken = false;                   // messages between hosts go by it
};

struct NetworkOffers {
  std::string version;  // of libfabric; empty: there is none
  std::string file;     // that it is
  std::string choice;   // which is taken, and why; or why none can be: a sentence
  std::vector<NetworkOffer> offers;
};

/// Loads libfabric and asks it, which takes most of a second.
NetworkOffers look_for_networks(const Config& config);

/// `address`: by which other hosts reach this one; `one_machine`: the nodes are virtual ones; `place`: of
/// this rank among those of its node.
ofi::Wish network_wish(const Config& config, const std::string& address, bool one_machine, int place);

}  // namespace tasuki
