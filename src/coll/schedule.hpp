// A collective as data: what one rank sends, receives, reduces and copies, in rounds.
//
// An algorithm is a pure function from (rank, size, counts, extents) to a Schedule, with its cost formula
// beside it. The executor (coll/execute.cpp) runs it, blocking or nonblocking; tests run it on a simulated
// network.
//
// The steps of a round start in their order; copies and reductions are done at once, sends and receives are
// only started. A round is over when all its sends and receives are; then the next one starts. So what is
// received in one round may be used by any step of a later one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace tasuki {

/// Where data lies: in a buffer of the call, or in the schedule's scratch memory. `offset` in bytes.
enum class Space : std::uint8_t { kSend, kReceive, kScratch };
struct Place {
  Space space;
  Count offset;
};

/// Which of the call's datatypes a step's elements have. kBytes: raw bytes.
enum class ElementType : std::uint8_t { kSendType, kReceiveType, kBytes };

struct Step {
  enum class Action : std::uint8_t { kSend, kReceive, kReduce, kCopy };
  Action action;
  ElementType type;     // of `count` elements at `from` (send, reduce, copy) or `to` (receive)
  ElementType to_type;  // of a copy's target
  int peer;             // rank in the communicator, of a send or receive
  Place from;           // send, reduce (the left operand), copy
  Place to;             // receive, reduce (the right operand and the result), copy
  Count count;
  Count to_count;  // of a copy's target
};

struct Schedule {
  std::vector<Step> steps;
  std::vector<std::uint32_t> round_ends;  // index one past the last step of each round
  Count scratch_bytes = 0;

  void send(Place from, Count count, ElementType type, int peer);
  void receive(Place to, Count count, ElementType type, int peer);
  void reduce(Place from, Place to, Count count, ElementType type);
  void copy(Place from, Count count, ElementType type, Place to, Count to_count, ElementType to_type);
  void end_round() { round_ends.push_back(static_cast<std::uint32_t>(steps.size())); }
  Place scratch(Count bytes);  // takes `bytes` more of scratch memory (aligned to 16)
};

/// What an algorithm costs on its critical path: message steps, bytes sent by the busiest rank, bytes reduced
/// by it.
struct Cost {
  double steps = 0;
  double bytes = 0;
  double reduced_bytes = 0;
};

}  // namespace tasuki
