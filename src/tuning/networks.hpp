// The row of the network in a job's table of parameters, before a table in a file has its say: of the network
// that virtual nodes imitate, and of TCP between hosts.
//
// Pure. Every rank of a job takes the same one.
#pragma once

#include "tuning/parameters.hpp"

namespace tasuki {

/// As it is set. A rate of 0: no limit.
inline void take_imitated_network(double latency_ns, double mb_per_second, double node_mb_per_second,
                                  Parameters* parameters) {
  constexpr double kUnlimitedBytesPerNs = 1e6;
  const auto bytes_per_ns = [](double rate) { return rate > 0 ? rate / 1e3 : kUnlimitedBytesPerNs; };
  parameters->network.latency_ns = latency_ns;
  parameters->network.long_ns = 2 * latency_ns;  // its two control messages
  parameters->network_long_bytes = parameters->long_bytes;
  parameters->network.bytes_per_ns = parameters->network.eager_bytes_per_ns = bytes_per_ns(mb_per_second);
  parameters->network_node_bytes_per_ns = bytes_per_ns(node_mb_per_second);
}

/// TCP through libfabric: the order of what a fast one takes, not fitted to any. `tasuki tune --host`
/// measures that of one's own, and RDMA, too.
inline void take_tcp_network(Parameters* parameters) {
  parameters->network = {3000, 12000, 2, 2, 30000};
  parameters->network_gap_ns = 2000;
  parameters->network_node_bytes_per_ns = 3;
}

}  // namespace tasuki
