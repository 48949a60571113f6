// Which ranks of a job go to which host.
#pragma once

#include <string>
#include <vector>

#include "launch/allocation/host_list.hpp"
#include "launch/options/options.hpp"
#include "launch/start/preparation.hpp"

namespace tasuki::launch {

/// Whether the name is that of the machine that this process runs on. Asks the system for its names and
/// addresses, and nobody else.
bool is_this_machine(const std::string& name);

/// Deals the ranks to the hosts of the options, and leaves in `hosts` those that got any. No host is named,
/// or only this machine: then all ranks are here, and the placement is not spread. Returns false, and why,
/// when an option that was given cannot be had on several hosts.
bool place_ranks(const Options& options, std::vector<HostSlots>* hosts, Placement* placement,
                 Refusal* refusal);

}  // namespace tasuki::launch
