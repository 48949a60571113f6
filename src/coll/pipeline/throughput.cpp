// The throughput model: see coll/pipeline/throughput.hpp.
#include "coll/pipeline/throughput.hpp"

#include <algorithm>

namespace tasuki {
namespace {

/// The first segment takes the whole way, the others follow tick by tick.
double pipelined(int hops, double ticks_after, double hop, double tick) {
  return hops * hop + std::max(ticks_after, 0.0) * tick;
}

struct Cut {
  double segment;  // bytes: of one part at most
  double number;   // of a part's segments
};

Cut cut(double bytes, int directions, double segment_bytes) {
  const double part = bytes / directions;
  const double segment = segment_bytes > 0 ? std::min(segment_bytes, part) : part;
  return {segment, segment > 0 ? part / segment : 0};
}

/// Of a tick in which each direction brings one transfer and takes one away.
double tick_time(double software, double wire, int directions, const LinkTimes& times) {
  return std::max(software + directions * times.receive, wire);
}

/// Of a transfer of so many bytes in each direction at once, on the way.
double wire_time(double bytes, int directions, const LinkTimes& times) {
  return times.latency + bytes * std::max(1 / times.bytes_per_time, directions / times.node_bytes_per_time);
}

}  // namespace

double pipelined_bcast_time(int hops, int directions, double bytes, double segment_bytes,
                            const LinkTimes& times) {
  const Cut pieces = cut(bytes, directions, segment_bytes);
  const double software = directions * times.software;
  const double wire = wire_time(pieces.segment, directions, times);
  return times.start +
         pipelined(hops, pieces.number - 1, software + wire, tick_time(software, wire, directions, times));
}

double pipelined_reduce_time(int hops, int directions, double bytes, double segment_bytes,
                             const LinkTimes& times) {
  const Cut pieces = cut(bytes, directions, segment_bytes);
  const double reducing = pieces.segment * directions / times.reduced_bytes_per_time;
  const double software = directions * times.software + reducing;
  const double wire = wire_time(pieces.segment, directions, times);
  return times.start +
         pipelined(hops, pieces.number - 1, software + wire, tick_time(software, wire, directions, times));
}

double multi_ring_time(int size, int segments, int directions, double block_bytes, const LinkTimes& times) {
  if (size == 1) return times.start;
  // All ranks send and receive from the first transfer on.
  const double software = directions * (times.software + times.receive);
  const double wire = wire_time(block_bytes / directions, directions, times);
  return times.start + pipelined(segments, size - 1 - segments, software + wire, std::max(software, wire));
}

}  // namespace tasuki
