// What the machine needs for the things that collectives are made of: the parameters of the cost formulas.
// A table can be read from a file (tuning/table.hpp); docs/tuning.md has what each is. The built-in ones were
// fitted to a virtual machine with two processors of the Sapphire Rapids generation by `make
// fit-collectives`, but for those of ranks that share no cache, which are guesses; tuning/processors.hpp has
// those of other makers. Of the row of the network only the order is right: tuning/networks.hpp has those
// that jobs take.
//
// Pure data. Times in nanoseconds, rates in bytes per nanosecond (that is GB/s).
#pragma once

#include "base/distance.hpp"

namespace tasuki {

/// A message of n bytes between two ranks takes software_ns + latency_ns + n / eager_bytes_per_ns, or, where
/// it waits for its receive, software_ns + long_ns + latency_ns + n / bytes_per_ns. But for the latency this
/// is time of the processors of both ranks.
struct MessageParameters {
  double software_ns;         // L_S: to send it, and to receive it
  double latency_ns;          // L_H: on the way, while the processors are free
  double bytes_per_ns;        // B: of a long one, from buffer to buffer
  double eager_bytes_per_ns;  // of a short one, which is copied twice
  double long_ns;             // until both ranks of a long one know where its buffers are
};

/// Who copies a message that goes straight between the buffers, from which size on, as in
/// base/distance_tables.hpp; 0: what is built in for the processor. Formulas use the last alone, and take 0
/// for never.
struct CopyThresholds {
  double sender_write_bytes_min = 0;
  double waiting_get_bytes_min = 0;
  double cooperative_bytes_min = 0;
  double stream_bytes_min = 0;
};

struct Parameters {
  // By how far apart the two ranks are.
  MessageParameters cache = {111, 180, 73.6, 19.6, 790};
  MessageParameters package = {180, 300, 15, 8, 600};
  MessageParameters machine = {180, 500, 8, 5, 1000};
  CopyThresholds cache_copies, package_copies, machine_copies;
  MessageParameters network = {1000, 2000, 5, 5, 4000};
  double long_bytes = 16 * 1024;  // a message that is longer waits for its receive (TASUKI_EAGER_BYTES_MAX)

  // Between nodes. What all ranks of a node send shares the node's way to the others.
  double network_long_bytes = 64 * 1024;
  double network_gap_ns = 0;               // from one message that leaves a node to the next; 0: nothing
  double network_node_bytes_per_ns = 1e6;  // of all ranks of a node together, each way

  double plan_ns = 185;                // to write a schedule of messages, and to begin it
  double reduced_bytes_per_ns = 17.6;  // T_C: combined by one rank, of what has come in a message
  double copied_bytes_per_ns = 47.4;   // copied by one rank in its own memory: packed, unpacked, moved

  // Cache lines that one processor writes and another one reads, over and over: packets, pages, kept copies.
  // They travel from cache to cache and back, once for all ranks of a processor, on top of their copying.
  double travelled_bytes_per_ns = 50;
  double streamed_bytes_per_ns = 10;  // the same of those that are written past the caches (base/copy.hpp)

  // Data that the caches do not hold: what the buffers of a processor's ranks have beyond `cache_bytes`.
  double cache_bytes = 1680000;     // that a processor has for itself
  double node_bytes_per_ns = 31.4;  // that all processors of a node together get from further away

  // The node segment of ranks that share memory (coll/shm/node_segment.hpp).
  double call_ns = 88.3;                        // of a collective that runs straight over the flags
  double flag_ns = 168;                         // until another rank sees a flag
  double flag_read_ns = 20;                     // for each further flag that a rank has to read
  double cell_bytes_per_ns = 16.1;              // written on the node segment, or read there
  double expose_ns = 328;                       // to plan a single-copy collective, and to expose buffers
  double get_bytes_per_ns = 42;                 // copied by one rank straight from another one's memory
  double reduced_in_place_bytes_per_ns = 27.7;  // combined by one rank straight out of the others' memory

  // More ranks than processors: what it costs on top, for each rank beyond the first that a processor has,
  // that a rank waits for another.
  double turn_ns = 1930;
};

}  // namespace tasuki
