// The row of the network in a job's table of parameters, before a table in a file has its say: of the network
// that virtual nodes imitate, and of TCP between hosts.
//
// Pure. Every rank of a job takes the same one.
#pragma once

#include "tuning/parameters.hpp"

namespace tasuki {

/// As it is set, on top of what a message between ranks of one node takes: that is how it is imitated. A rate
/// of 0: no limit.
inline void take_imitated_network(double latency_ns, double mb_per_second, double node_mb_per_second,
                                  Parameters* parameters) {
  constexpr double kUnlimitedBytesPerNs = 1e6;
  const auto bytes_per_ns = [](double rate) { return rate > 0 ? rate / 1e3 : kUnlimitedBytesPerNs; };
  const MessageParameters& near = parameters->cache;
  parameters->network.software_ns = near.software_ns;
  parameters->network.latency_ns = latency_ns + near.latency_ns;
  // Its two control messages.
  parameters->network.long_ns = 2 * (parameters->network.software_ns + parameters->network.latency_ns);
  parameters->network_long_bytes = parameters->long_bytes;
  parameters->network.bytes_per_ns = parameters->network.eager_bytes_per_ns = bytes_per_ns(mb_per_second);
  parameters->network_node_bytes_per_ns = bytes_per_ns(node_mb_per_second);
}

/// TCP through libfabric: the order of what a fast one takes. Of rows of that order it is one whose choices
/// cost least on virtual nodes over a loopback interface. `tasuki tune --host` measures that of one's own,
/// and RDMA, too.
inline void take_tcp_network(Parameters* parameters) {
  parameters->network = {3000, 6000, 3.3, 2, 20000};
  parameters->network_gap_ns = 1200;
  parameters->network_node_bytes_per_ns = 3;
}

}  // namespace tasuki
