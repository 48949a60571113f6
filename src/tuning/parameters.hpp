// What the machine needs for the things that collectives are made of: the parameters of the cost formulas.
// The built-in ones are those of one node of middling speed; a table can be read from a file
// (tuning/table.hpp), whose documentation is docs/tuning.md.
//
// Pure data. Times in nanoseconds, rates in bytes per nanosecond (that is GB/s).
#pragma once

#include "base/distance.hpp"

namespace tasuki {

/// A message of n bytes between two ranks takes software_ns + latency_ns + n / bytes_per_ns; a rank can send
/// the next one after software_ns.
struct MessageParameters {
  double software_ns;   // L_S: of the sender's and the receiver's processors
  double latency_ns;    // L_H: on the way, while the processors are free
  double bytes_per_ns;  // B
};

struct Parameters {
  // By how far apart the two ranks are.
  MessageParameters cache = {400, 200, 6.7};
  MessageParameters package = {400, 300, 6.7};
  MessageParameters machine = {400, 400, 5.0};
  MessageParameters network = {1000, 2000, 5.0};

  double reduced_bytes_per_ns = 6.7;  // T_C: combined by one rank
  double copied_bytes_per_ns = 10;    // copied by one rank in its own memory: packed, unpacked, moved
  double node_bytes_per_ns = 50;      // moved by all ranks of a node together

  // The stage of ranks that share memory (coll/stage.hpp).
  double flag_ns = 70;             // until another rank sees a flag
  double flag_read_ns = 15;        // for each further flag that a rank has to read
  double shared_ns = 300;          // to plan work in shared buffers, and to offer a rank's own
  double pulled_bytes_per_ns = 8;  // copied by one rank straight from another one's memory

  // More ranks than processors: what a step costs on top for each rank beyond the first that a processor has.
  double turn_ns = 2000;
};

}  // namespace tasuki
