// Matching: which receive takes which message (MPI 3.5).
//
// Every context (communicator and plane) has a queue of receives that were posted and not matched, and of
// messages that arrived and were not matched. A queue is made when it is first needed: a message may arrive
// before this rank has made the communicator. Within a queue there is one lane per source rank, so that the
// usual match is the first entry of its lane; receives from any source stand in a list of their own and are
// ordered against the lanes by their serial numbers; messages stand in their lane and in the queue's list of
// arrivals, which a receive from any source searches.
//
// The lists are intrusive: entries are parts of requests and messages, which own themselves; nothing is
// allocated when something is posted or arrives, but for a new queue or a longer table of lanes.
//
// Threads that share a communicator take a tag each. A search that has passed over many entries with other
// tags gives its list an index by tags (Row), so that the next one begins among its own.
//
// Thread safety: none; the process lock guards it.
//
// Invariants:
//  1. No posted receive of a queue matches a message in the same queue.
//  2. Every list is in order: receives as posted, messages as arrived.
//  3. entry->queue is the queue that an entry stands in, null when it stands in none.
//  4. Where a row has an index, all of its entries stand in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <vector>

#include "base/types.hpp"
#include "base/variables/counters.hpp"
#include "base/zero_table.hpp"

namespace tasuki {

struct MatchQueue;

/// A receive that can be matched. `source` may be kAnySource, `tag` kAnyTag.
struct PostedReceive {
  int source = 0;
  int tag = 0;
  std::uint64_t serial = 0;
  MatchQueue* queue = nullptr;
  PostedReceive* previous = nullptr;
  PostedReceive* next = nullptr;
  PostedReceive* tag_previous = nullptr;  // in an index; else unset
  PostedReceive* tag_next = nullptr;
};

/// A message that has arrived.
struct ArrivedMessage {
  int source = 0;
  int tag = 0;
  MatchQueue* queue = nullptr;
  ArrivedMessage* lane_previous = nullptr;  // among the messages of its source
  ArrivedMessage* lane_next = nullptr;
  ArrivedMessage* previous = nullptr;  // among all of the queue
  ArrivedMessage* next = nullptr;
  ArrivedMessage* tag_previous = nullptr;  // in an index; else unset
  ArrivedMessage* tag_next = nullptr;
};

template <class Entry>
struct MatchList {
  Entry* first = nullptr;
  Entry* last = nullptr;
};

/// The entries of a list by their tags: each list has those of several tags, in order.
template <class Entry>
struct TagIndex {
  static constexpr int kBits = 6;
  MatchList<Entry> with_tag[1 << kBits];
  MatchList<Entry> any;  // receives with any tag

  MatchList<Entry>& of(int tag) {
    if (tag == kAnyTag) return any;
    return with_tag[(static_cast<std::uint32_t>(tag) * 0x9e3779b9u) >> (32 - kBits)];
  }
};

/// A list in which one looks for tags.
template <class Entry>
struct Row : MatchList<Entry> {
  TagIndex<Entry>* index = nullptr;  // of the queue; null: no search was long
};

/// All zero: nobody has sent or asked for a message.
struct MatchLane {
  Row<PostedReceive> posted;
  Row<ArrivedMessage> arrived;
};

struct MatchQueue {
  explicit MatchQueue(Context its_context) : context(its_context) {}

  const Context context;
  std::uint64_t serial_next = 1;
  Row<PostedReceive> posted_any;      // those from any source
  MatchList<ArrivedMessage> arrived;  // all of them
  ZeroTable<MatchLane> lanes;         // by source rank; up to the highest rank seen, or more
  std::forward_list<TagIndex<PostedReceive>> posted_indexes;
  std::forward_list<TagIndex<ArrivedMessage>> arrived_indexes;
};

class Matching {
 public:
  explicit Matching(QueueLevels& levels);

  /// A message from `source` has arrived: removes and returns the receive that it matches, or returns null.
  PostedReceive* match_arrival(Context context, int source, int tag);
  /// Keeps a message that match_arrival() found no receive for.
  void add(Context context, ArrivedMessage* message);

  /// A receive is to be posted: the message that it matches, which stays where it is, or null.
  ArrivedMessage* find_arrived(Context context, int source, int tag);
  /// Posts a receive of the queue of `context`, unless a message is there that it matches: returns that one,
  /// which stays where it is, else null.
  ArrivedMessage* post(Context context, PostedReceive* receive);

  void remove(PostedReceive* receive);
  void remove(ArrivedMessage* message);

  /// From now on is_first() holds never: every message comes by the progress loop.
  void forbid_first() {
    may_be_first_ = false;
    ++entries_;
  }

  /// Whether a receive of exactly this, were it posted now, would be the first to match the next message
  /// from `source` that it matches: no message that has arrived matches it, and no receive in its queue may
  /// match what it matches.
  bool is_first(Context context, int source, int tag) {
    return entries_ == 0 || is_first_of_queue(context, source, tag);
  }

  /// The queue of `context`, or null: for walking through what is left in it.
  MatchQueue* find(Context context) {
    return found_ != nullptr && found_->context == context ? found_ : search(context);
  }
  /// Drops the queue of `context`; its entries are no longer in any queue.
  void forget(Context context);
  /// Calls `each(MatchQueue&)` for all queues.
  template <class Each>
  void for_each(Each&& each) {
    for (Slot& slot : slots_) {
      if (slot.queue) each(*slot.queue);
    }
  }

 private:
  struct Slot {
    Context context = 0;
    std::unique_ptr<MatchQueue> queue;
  };

  std::size_t home(Context context) const {
    return static_cast<std::size_t>((context * 0x9e3779b97f4a7c15u) >> shift_);
  }
  MatchQueue* search(Context context);
  bool is_first_of_queue(Context context, int source, int tag);
  MatchQueue& need(Context context) {
    MatchQueue* const queue = find(context);
    return queue != nullptr ? *queue : make(context);
  }
  MatchQueue& make(Context context);
  void grow();

  QueueLevels& levels_;
  std::vector<Slot> slots_;  // open addressing with linear probing; a power of two long, at most half full
  int shift_;                // 64 - log2(slots_.size())
  std::size_t used_ = 0;
  std::size_t entries_ = 0;  // in all queues; one more where is_first() never holds
  bool may_be_first_ = true;
  MatchQueue* found_ = nullptr;  // the last one: the next is usually the same
};

}  // namespace tasuki
