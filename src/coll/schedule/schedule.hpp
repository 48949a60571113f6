// A collective as data: what one rank sends, receives, reduces and copies, in rounds.
//
// An algorithm is a pure function from (rank, size, counts, extents) to a Schedule, with its cost formula
// beside it (coll/algorithm/algorithms.hpp). The executor (coll/run/execution.cpp) runs it, blocking or
// nonblocking; tests run it on a simulated network.
//
// The steps of a round start in their order; copies and reductions are done at once, sends and receives are
// only started. A round is over when all its sends and receives are; then the next one starts. So what is
// received in one round may be used by any step of a later one.
//
// A schedule that *follows data* is one whose rounds are its order alone: each step may start as soon as
// those are over whose data or room it needs (coll/schedule/dependencies.hpp). Pipelines of several segments
// are such schedules, and pairwise all-to-alls of several rounds: several segments, or blocks, are under way,
// and no direction waits for another. In all others the rounds say besides how much is under way at a time.
//
// Invariants that every algorithm keeps:
//  1. The messages from one rank to another are received in the order in which they are sent (they have one
//     tag), and as many bytes are received as are sent.
//  2. What is being received in a round is neither read nor written by another step of that round, and
//     what is being sent is not written by one.
//  3. The send buffer is never written.
//
// Single-copy schedules: ranks that share memory (coll/shm/node_segment.hpp) may also work in each other's
// buffers. The buffers that a rank lets the others see are its *exposed buffers*: its input, its output or
// blocks of them, as dense bytes at an address that means the same to all. An exposed buffer is the user's
// own memory where that is global and dense; elsewhere the executor stages it in symmetric memory. A schedule
// never knows which of the two it is. It offers this rank's exposed buffers, awaits those of others, moves
// and combines bytes of any of them, and says by numbered phases how far this rank is:
//  4. A rank touches another rank's exposed buffer only after it awaited a phase of that rank. It touches its
//     own, where others read or write it, only before its offer or after it awaited them.
//  5. Offering is phase 1; each rank signals higher and higher phases. A rank ends its schedule only after it
//     awaited a phase of all that touch its exposed buffers, which they signal when they are through with
//     them; but for buffers that are kept. A rank that offers those offers nothing that others write.
//  6. Of two steps of different ranks that touch the same byte of an exposed buffer, one of which writes, one
//     happens before the other, by a phase that is signalled and awaited between them. So two ranks may swap
//     blocks of theirs together, each its part of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "tuning/choose.hpp"

namespace tasuki {

/// Where data lies: in a buffer of the call, in the schedule's scratch memory, or in an exposed buffer.
enum class Space : std::uint8_t {
  kSend,
  kReceive,
  kScratch,
  kPiece,       // scratch memory for one piece of a group of steps: the same for each piece
  kInput,       // exposed buffer 0 of `member`
  kOutput,      // exposed buffer 1 of `member`
  kBlockForMe,  // the exposed buffer of `member` that has this rank's number
  kBlockFrom,   // this rank's exposed buffer number P + `member`: where the block of that rank goes
};
struct Place {
  Space space = Space::kScratch;
  int member = -1;   // of an exposed buffer: a rank in the communicator
  Count offset = 0;  // bytes

  constexpr Place() = default;
  constexpr Place(Space in_space, Count at, int of_member = -1)
      : space(in_space), member(of_member), offset(at) {}

  friend Place operator+(Place place, Count bytes) {
    return {place.space, place.offset + bytes, place.member};
  }
  friend bool operator==(Place a, Place b) {
    return a.space == b.space && a.offset == b.offset && a.member == b.member;
  }
};
inline constexpr Place kResult{Space::kReceive, 0};
inline bool is_exposed(Place place) {
  return place.space >= Space::kInput;
}

/// What an algorithm has to know of a datatype; bytes, as in datatype.hpp. The default is that of raw bytes.
struct TypeShape {
  Count size = 1;
  Count extent = 1;
  Count true_lb = 0;
  Count true_extent = 1;
  bool contiguous = true;

  friend bool operator==(const TypeShape&, const TypeShape&) = default;
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

/// Elements in one of the call's buffers of which the schedule speaks as dense bytes.
struct ExposedBuffer {
  enum class Use : std::uint8_t {
    kOwn,  // only this rank touches it, by moves: it is not offered, and need be neither global nor dense
    kCombined,  // only this rank touches it, but it combines there: it is not offered
    kRead,      // others read what it holds when it is offered
    kKept,      // others read a copy that outlives the schedule: its owner does not wait for its readers
    kWritten,   // this rank and others write it, and may read what is written
    kSwapped,   // others read and write the part of it that they swap; this rank has the rest as its own
  };
  Place place = {};
  Count count = 0;
  ElementType type = ElementType::kBytes;
  int block = -1;  // where `type` is one of many: its number
  Use use = Use::kOwn;
  Count part_begin = 0, part_bytes = 0;  // kSwapped: the part
};
inline bool is_offered(const ExposedBuffer& exposed) {
  return exposed.use >= ExposedBuffer::Use::kRead;
}

enum class Evidence : std::uint8_t;  // coll/check/call_comparison.hpp

struct Step {
  enum class Action : std::uint8_t {
    kSend,
    kReceive,
    kReduce,
    kCopy,
    kSum,   // `to` = `to_count` vectors of `count` elements, the one after the other from `from` on, combined
            // by an exact operation (reduction/exact.hpp)
    kSign,  // `count` is an Evidence, also in kCompare
    kCompare,
    kCall,     // part `count` of a blocking hierarchical collective (coll/hierarchy/calls.hpp)
    kOffer,    // expose the buffers and publish phase 1
    kSignal,   // phase `count`
    kAwait,    // the round lasts until `peer`, or everyone where it is kEveryone, has reached phase `count`
    kMove,     // `count` * `element_bytes` from `from` to `to`: exposed buffers, or bytes in scratch memory
    kCombine,  // `to` = `from` op `with`: `count` elements of `type`, dense, in exposed buffers or pieces.
               // Where `to_count` is not 0: the inputs of so many members, each from `from` on, as kSum does
               // it
    kAccept,   // what others wrote to exposed buffers that are staged goes to the user's buffers
  };
  static constexpr int kEveryone = -1;
  Action action = Action::kCopy;
  ElementType type =
      ElementType::kBytes;  // of `count` elements at `from` (send, reduce, copy) or `to` (receive)
  ElementType to_type = ElementType::kBytes;  // of a copy's target
  int peer = -1;                              // rank in the communicator, of a send or receive
  Place from = {};                            // send, reduce (the left operand), copy
  Place to = {};                              // receive, reduce (the right operand and the result), copy
  Count count = 0;
  Count to_count = 0;  // of a copy's target
  int block = -1;      // where `type` is one of many: the block that is sent, received or copied
  int to_block = -1;   // where `to_type` is one of many: the block that a copy fills
  bool local = false;  // on an intercommunicator: `peer` is a rank in the local group, not the remote one
  Place with = {};     // the right operand of a combination
  Count element_bytes = 0;  // of moves and combinations
  // This step and so many after it are a group, moves and combinations of as many elements each: they are
  // done piece by piece, at most `piece` elements at a time, so that a piece stays in the cache meanwhile.
  // One of moves alone swaps: its second step moves from another rank's block to one of this rank's that is
  // as long, or nothing is done.
  std::uint32_t group = 0;
  Count piece = 0;
};

inline bool is_single_copy(Step::Action action) {
  return action >= Step::Action::kOffer;
}

struct Schedule {
  static constexpr Count kNoLimit = INT64_MAX;
  std::vector<Step> steps;
  std::vector<std::uint32_t> round_ends;  // index one past the last step of each round
  std::vector<ExposedBuffer> exposed;
  Place left_room, right_room;  // scratch memory for the pieces that a combination unpacks; see make_rooms
  Count scratch_bytes = 0;
  std::vector<Count> boundaries;           // working memory of the algorithms, here so that it is used again
  std::vector<std::vector<Count>> counts;  // arrays that parts refer to
  int algorithm = -1;  // which was chosen: its number in base/variables/algorithm_table.hpp; -1: of none
  Selection choice;    // what the model said; empty where there was none to choose
  bool shows_phases = false;          // this rank offers or signals
  bool follows_data = false;          // instead of rounds: see above
  Count beside_bytes_max = kNoLimit;  // of a message down a tree beside which the next one may leave

  void set_choice(const Selection& chosen) { choice = chosen, algorithm = chosen.algorithm; }

  /// `block` is the rank of the peer but in neighbourhood collectives.
  void send(Place from, Count count, ElementType type, int peer) { send(from, count, type, peer, peer); }
  void send(Place from, Count count, ElementType type, int peer, int block);
  void receive(Place to, Count count, ElementType type, int peer) { receive(to, count, type, peer, peer); }
  void receive(Place to, Count count, ElementType type, int peer, int block);
  void reduce(Place from, Place to, Count count, ElementType type);
  void sum(Place from, int vectors, Place to, Count count, ElementType type);
  void copy(Place from, Count count, ElementType type, Place to, Count to_count, ElementType to_type,
            int block = -1) {
    copy(from, count, type, to, to_count, to_type, block, block);
  }
  void copy(Place from, Count count, ElementType type, Place to, Count to_count, ElementType to_type,
            int block, int to_block);

  /// With TASUKI_CHECK (coll/check/call_comparison.hpp): put what this rank has to say of its call at `to`;
  /// and compare what the ranks have said, at `from`. Where it does not fit together, the schedule ends
  /// there; of amounts the verdict goes to `to`.
  void sign(Place to, Evidence what);
  void compare(Place from, Place to, Evidence what);

  /// Calls a part.
  void call(int part) { steps.push_back({.action = Step::Action::kCall, .count = part}); }

  // Single-copy steps.

  /// Whether it has single-copy steps: then it has exposed buffers.
  bool is_single_copy() const { return !exposed.empty(); }

  /// Makes this rank's exposed buffers known to the others. The schedule's `exposed buffers` are complete.
  void offer();
  void signal(int phase);
  void await(int member, int phase);
  void await_everyone(int phase) { await(Step::kEveryone, phase); }
  void move(Place from, Place to, Count count, Count element_bytes = 1);
  void combine(Place left, Place right, Place to, Count count, ElementType type, Count element_bytes);
  void sum_inputs(Count offset, int members, Place to, Count count, ElementType type, Count element_bytes);
  void accept();

  /// What is added between the two is a group of steps.
  std::size_t begin_pieces() const { return steps.size(); }
  void end_pieces(std::size_t first_step, Count piece);

  /// Scratch memory for combinations of up to `piece` elements of `type`. Every schedule that combines needs
  /// it.
  void make_rooms(Count piece, const TypeShape& type);

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

  /// After a message of so many bytes to a child of a tree, the largest subtree's first: ends the round where
  /// the next child's message would share its link and keep that subtree waiting.
  void end_child(Count bytes) {
    if (bytes > beside_bytes_max) end_round();
  }

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
