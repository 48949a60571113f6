// How near a network card is to the processors of a rank, as the system tells in /sys.
//
// A card hangs on the bus of one package, or of one memory node (NUMA). From another one a packet goes over
// the connection between the packages: it takes longer, and shares that with all else. So of several cards a
// rank had better use one that is near to where it may run.
#pragma once

#include <string>
#include <vector>

namespace tasuki::ofi {

/// Where nothing is known: what comes over no bus, a card in a virtual machine, a system without /sys.
inline constexpr int kNearnessUnknown = 1000;

/// Of the card at `address` on the PCI bus ("0000:3b:00.0") to the nearest of `processors`: the system's
/// distance of memory nodes, 10 within one, more beyond; kNearnessUnknown. `sys`: "/sys", or another folder
/// in tests.
int nearness(const std::string& sys, const std::string& address, const std::vector<int>& processors);

/// The processors on which this thread may run.
std::vector<int> own_processors();

}  // namespace tasuki::ofi
