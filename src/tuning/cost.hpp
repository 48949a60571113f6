// What an algorithm costs, counted in things that a machine takes time for; and that time.
//
// A *predicted time* is that of one call of many, one right after the other, at the rank that takes longest.
// It is what the ranks' processors have to do, and the time that they wait for each other. What they have to
// do is the share of the rank that has the most, or, with fewer processors than ranks, each processor's share
// of the whole. They wait for every step of the critical path, but not in a one-way algorithm with short
// messages: there a rank begins the next call while others are still at the last one, until there is no room
// for more messages. Where ranks share
// processors and all goes to one of them, that one falls behind while the others have the processors: they
// wait for its turn, once.
//
// Pure.
#pragma once

#include "tuning/parameters.hpp"
#include "tuning/problem.hpp"

namespace tasuki {

/// The unit of time of `steps` is one message, where a rank sends at most one message at a time and receives
/// at most one at a time, and can do both at once.
struct Cost {
  double steps = 0;                // on the critical path
  double messages = 0;             // sent by all ranks together
  double bytes = 0;                // through the busiest rank: sent or received, the larger of both
  double total_bytes = 0;          // sent by all ranks together
  double reduced_bytes = 0;        // by the busiest rank
  double total_reduced_bytes = 0;  // by all ranks together
  double copied_bytes = 0;         // by the busiest rank, in its own memory; contiguous data, not in place
  double levels = 1;               // messages from the first rank to the last one, if it is one-way
  bool one_way = false;            // no rank waits for one that depends on it: successive calls overlap
  bool in_pairs = false;           // who sends to a rank gets from it, too
  bool unordered = false;          // no message needs another one's data: between nodes all travel at once
};

/// The processors that the ranks have, but at most one for each.
double processors_at_work(const Problem& problem);

/// The share of the ranks' buffers that is not in the caches of their processors when a call begins that
/// repeats the one before: 0 to 1.
double uncached_share(const Problem& problem, const Parameters& parameters);

/// The share of them that is in some cache, if only in the last level, which holds several times as much as a
/// processor's own: what is in none comes from memory, and does not travel.
double travelling_share(const Problem& problem, const Parameters& parameters);

/// What it takes that ranks which share a processor take turns once.
double turns_ns(const Problem& problem, const Parameters& parameters);

/// How often all of a processor's ranks have their turns until data has gone through so many ranks, one after
/// the other. Turns come in any order, and half of the ranks have had theirs before the data comes to them.
inline double rounds_of_turns(double ranks) {
  return (ranks + 1) / 2;
}

/// Of a node's ranks, those on other processors than a rank.
double ranks_away(const Problem& problem);

/// What it takes a rank to look at the flags of all others, once the first is there. Those of ranks that have
/// the same processor are in its cache.
double flags_of_all_ns(const Problem& problem, const Parameters& parameters);

/// What it takes that so many bytes travel from one processor's cache to another's.
double travel_ns(double bytes, const Parameters& parameters);

/// Whether a run of so many bytes that one rank writes for another goes past the caches; and what it takes
/// that so many bytes do, and are read.
bool is_streamed(double run_bytes, const Problem& problem, const Parameters& parameters);
double stream_ns(double bytes, const Parameters& parameters);

/// The parameters of messages between two ranks of a node that are so far apart, and of those between nodes.
const MessageParameters& message_within(const Parameters& parameters, Distance distance);

/// The time of a schedule of messages: all on one node, or, where the ranks are on several, as if each rank
/// sent as much to any of the others.
double cost_ns(const Cost& cost, const Problem& problem, const Parameters& parameters);

}  // namespace tasuki
