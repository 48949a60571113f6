// Pmi1Wire: a client of PMI-1, the protocol of lines "cmd=NAME KEY=VALUE ..." on a socket.
//
// The launcher either hands the socket down (PMI_FD) or says where it listens (PMI_PORT, with PMI_ID). From
// the first call on the socket is closed on exec, so that programs which a rank starts cannot take themselves
// for it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "job/wire/wire.hpp"

namespace tasuki::wire {

/// A line of the protocol. Pure.
using Pmi1Message = std::map<std::string, std::string, std::less<>>;
Pmi1Message parse_pmi1(std::string_view line);

/// Says hello on `fd`, a socket to the launcher, which is its owner from now on. Of `told` is used what the
/// launcher does not tell on the wire. `port_id`: the PMI_ID of a rank that connected by PMI_PORT; empty: by
/// PMI_FD. Returns null and one line in `error` when the other end does not speak PMI-1.
std::unique_ptr<Wire> make_pmi1_wire(int fd, const Place& told, const std::string& port_id,
                                     std::string* error);

/// A socket to "host:port", or -1 with one line in `error`.
int connect_to_pmi_port(const std::string& address, std::string* error);

}  // namespace tasuki::wire
