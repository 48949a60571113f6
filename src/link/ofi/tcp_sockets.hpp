// TcpSockets: what the system knows of the TCP connections that libfabric has made for this process, which
// libfabric does not tell: whether the system at the other end still acknowledges what it is sent. It does so
// also for a process that computes or is stopped; so a connection that is not acknowledged is broken.
//
// Thread safety: none. Nothing is changed: the descriptors are only looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tasuki::ofi {

struct TcpSocket {
  std::string other;                  // the address at the other end, as names of endpoints have it
  std::uint16_t other_port = 0;       // the listening port of a process where this one began the connection
  bool is_own = false;                // this process began it; else it took it at its own listening port
  std::uint32_t retransmissions = 0;  // of the same bytes, one after the other, without an answer
  std::int64_t quiet_ns = 0;          // since the other end has acknowledged anything
  std::string text;                   // "10.77.0.1:4242 to 10.77.0.2:4343"

  bool is_silent() const { return retransmissions != 0; }
};

/// All connections between the address of the endpoint `own` and others. Empty where there are none, or the
/// system does not say.
std::vector<TcpSocket> find_tcp_sockets(const std::string& own);

}  // namespace tasuki::ofi
