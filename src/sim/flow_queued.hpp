// Short messages on a crossbar: one that is no longer than a packet or two does not share a link with others,
// it waits until those before it are through. So they go through the sender's link, then the receiver's, each
// in the order in which they come, with room for those that wait. What is longer goes to the engine, as a
// flow.
//
// It is also what makes exchanges of many short messages possible: when each ends at a date of its own,
// dividing the links anew among a thousand flows takes the engine 0.2 ms a message.
#pragma once

#include <memory>

#include "sim/flow.hpp"

namespace tasuki::sim {

/// `flows`, of `topology`, but for messages of up to `bytes_max`, each of which holds a link for
/// `gap_seconds` besides its bytes. REQUIRES: a crossbar.
std::unique_ptr<Flows> queue_short(std::unique_ptr<Flows> flows, const Topology& topology, double bytes_max,
                                   double gap_seconds);

}  // namespace tasuki::sim
