// By which address other hosts reach this one, where no launcher has said so.
#pragma once

#include <string>
#include <vector>

namespace tasuki {

/// The first address of these names that an interface of this host has, and that reaches other hosts: no
/// loopback and no link-local one. Empty: there is none. May ask the system's servers of names.
std::string own_address(const std::vector<std::string>& names);

}  // namespace tasuki
