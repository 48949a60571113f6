// A collective as data: what one rank sends, receives, reduces and copies, in rounds.
//
// An algorithm is a pure function from (rank, size, counts, extents) to a Schedule, with its cost formula
// beside it (coll/algorithms.hpp). The executor (coll/execute.cpp) runs it, blocking or nonblocking; tests
// run it on a simulated network.
//
// The steps of a round start in their order; copies and reductions are done at once, sends and receives are
// only started. A round is over when all its sends and receives are; then the next one starts. So what is
// received in one round may be used by any step of a later one.
//
// Invariants that every algorithm keeps:
//  1. The messages from one rank to another are received in the order in which they are sent (they have one
//     tag), and as many bytes are received as are sent.
//  2. What is being received in a round is neither read nor written by another step of that round, and what
//  is
//     being sent is not written by one.
//  3. The send buffer is never written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace tasuki {

/// Where data lies: in a buffer of the call, or in the schedule's scratch memory. `offset` in bytes.
enum class Space : std::uint8_t { kSend, kReceive, kScratch };
struct Place {
  Space space = Space::kScratch;
  Count offset = 0;

  friend Place operator+(Place place, Count bytes) { return {place.space, place.offset + bytes}; }
  friend bool operator==(Place a, Place b) { return a.space == b.space && a.offset == b.offset; }
};

/// What an algorithm has to know of a datatype; bytes, as in datatype.hpp. The default is that of raw bytes.
struct TypeShape {
  Count size = 1;
  Count extent = 1;
  Count true_lb = 0;
  Count true_extent = 1;
  bool contiguous = true;
};

/// Which of the call's datatypes a step's elements have. kBytes: raw bytes. The kinds ...OfPeer are those of
/// MPI_Alltoallw and its kin, which have one datatype for each block: that of the step's `block`.
enum class ElementType : std::uint8_t {
  kSendType,
  kReceiveType,
  kBytes,
  kSendTypeOfPeer,
  kReceiveTypeOfPeer
};

struct Step {
  enum class Action : std::uint8_t { kSend, kReceive, kReduce, kCopy, kSign, kCompare };
  Action action;
  ElementType type;     // of `count` elements at `from` (send, reduce, copy) or `to` (receive)
  ElementType to_type;  // of a copy's target
  int peer;             // rank in the communicator, of a send or receive
  Place from;           // send, reduce (the left operand), copy
  Place to;             // receive, reduce (the right operand and the result), copy
  Count count;
  Count to_count;      // of a copy's target
  int block;           // where `type` is one of many: the block that is sent, received or copied
  int to_block;        // where `to_type` is one of many: the block that a copy fills
  bool local = false;  // on an intercommunicator: `peer` is a rank in the local group, not the remote one
};

struct Schedule {
  std::vector<Step> steps;
  std::vector<std::uint32_t> round_ends;  // index one past the last step of each round
  Count scratch_bytes = 0;
  std::vector<Count> boundaries;  // working memory of the algorithms, here so that it is used again
  int algorithm = -1;             // which was chosen: its number in base/algorithm_table.hpp; -1: of none

  /// `block` is the rank of the peer but in neighbourhood collectives.
  void send(Place from, Count count, ElementType type, int peer) { send(from, count, type, peer, peer); }
  void send(Place from, Count count, ElementType type, int peer, int block);
  void receive(Place to, Count count, ElementType type, int peer) { receive(to, count, type, peer, peer); }
  void receive(Place to, Count count, ElementType type, int peer, int block);
  void reduce(Place from, Place to, Count count, ElementType type);
  void copy(Place from, Count count, ElementType type, Place to, Count to_count, ElementType to_type,
            int block = -1) {
    copy(from, count, type, to, to_count, to_type, block, block);
  }
  void copy(Place from, Count count, ElementType type, Place to, Count to_count, ElementType to_type,
            int block, int to_block);

  /// With TASUKI_CHECK (coll/compare.hpp): put the record of this rank's call at `to`; and compare the
  /// records at `from`, those of all ranks from this one on. Where they do not fit together, the schedule
  /// ends there.
  void sign(Place to);
  void compare(Place from);

  /// On an intercommunicator: the peers of the steps from `first_step` on are ranks in the local group.
  void make_local(std::size_t first_step);

  /// The steps from `first_step` on were written for some of the ranks alone, numbered from 0: `ranks` says
  /// which these are. REQUIRES: only messages, copies and reductions; no datatypes that differ by block.
  void map_ranks(std::size_t first_step, std::span<const int> ranks);

  /// The steps from `first_step` on were written for buffers of their own: `send` and `receive` say where
  /// these begin.
  void map_buffers(std::size_t first_step, Place send, Place receive);

  /// Ends the round; a round without steps is none.
  void end_round();

  /// Takes `bytes` more of scratch memory, aligned to kScratchAlignment.
  Place scratch(Count bytes);

  /// Takes scratch memory for `count` elements of `type`. The place returned is where a buffer of them
  /// begins, as aligned as the user's own would be; their data may begin before or after it (true_lb).
  Place scratch_elements(Count count, const TypeShape& type);

  /// Makes the schedule empty; keeps its memory.
  void clear();
};

inline constexpr Count kScratchAlignment = 64;

}  // namespace tasuki
