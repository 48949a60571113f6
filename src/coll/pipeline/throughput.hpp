// The throughput model of the algorithms that use d directions of a network at once: what they take where a
// rank has d links in use, and its processor starts one transfer after the other. Pure; in any unit of time.
//
// A transfer of m bytes takes L_S (the processor's share: one for each direction, one after the other), L_H
// and m/b (on the way, in all directions at once; where they share what the node can send, as much longer as
// that is less). What is filled or drained, the way of the first segment,
// takes S times all of these; then a segment of each direction follows in each tick, which takes the longer
// of both shares.
#pragma once

#include <limits>

namespace tasuki {

struct LinkTimes {
  double software;        // L_S: the processor's share of one transfer
  double latency;         // L_H: the hardware's
  double bytes_per_time;  // b: of one direction
  double node_bytes_per_time = std::numeric_limits<double>::infinity();  // of all directions together
  double reduced_bytes_per_time = 0;  // T_C: what a rank reduces, of all directions together
  double start = 0;                   // before the first transfer: deciding, addresses
  double receive = 0;                 // the processor's share of a transfer that comes in, where it has one
};

/// A broadcast of `bytes` in `directions` parts of segments of `segment_bytes`, over `hops` (S).
double pipelined_bcast_time(int hops, int directions, double bytes, double segment_bytes,
                            const LinkTimes& times);

/// A reduction, the same way up.
double pipelined_reduce_time(int hops, int directions, double bytes, double segment_bytes,
                             const LinkTimes& times);

/// An allgather of blocks of `block_bytes` in `directions` parts, over rings in `node segments` node
/// segments, of P-1 ticks in all.
double multi_ring_time(int size, int segments, int directions, double block_bytes, const LinkTimes& times);

}  // namespace tasuki
