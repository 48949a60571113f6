// Matching: the lists, the rules of order, and the table of queues.
#include "p2p/matching.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tasuki {

namespace {

constexpr int kFirstTableBits = 4;

constexpr int kPassedMax = 16;  // of a search, over entries with other tags, before its row gets an index

/// Where an entry keeps its neighbours in a list.
template <class Entry>
struct Links {
  Entry* Entry::*previous;
  Entry* Entry::*next;
};
constexpr Links<PostedReceive> kPosted{&PostedReceive::previous, &PostedReceive::next};
constexpr Links<ArrivedMessage> kInQueue{&ArrivedMessage::previous, &ArrivedMessage::next};
constexpr Links<ArrivedMessage> kInLane{&ArrivedMessage::lane_previous, &ArrivedMessage::lane_next};
template <class Entry>
constexpr Links<Entry> kInIndex{&Entry::tag_previous, &Entry::tag_next};

template <class Entry>
inline void append(MatchList<Entry>& list, Links<Entry> links, Entry* entry) {
  entry->*links.previous = list.last;
  entry->*links.next = nullptr;
  (list.last != nullptr ? list.last->*links.next : list.first) = entry;
  list.last = entry;
}

template <class Entry>
inline void unlink(MatchList<Entry>& list, Links<Entry> links, Entry* entry) {
  Entry* const previous = entry->*links.previous;
  Entry* const next = entry->*links.next;
  (previous != nullptr ? previous->*links.next : list.first) = next;
  (next != nullptr ? next->*links.previous : list.last) = previous;
}

template <class Entry>
inline void append_to_row(Row<Entry>& row, Links<Entry> links, Entry* entry) {
  append(row, links, entry);
  if (row.index != nullptr) append(row.index->of(entry->tag), kInIndex<Entry>, entry);
}

template <class Entry>
inline void unlink_from_row(Row<Entry>& row, Links<Entry> links, Entry* entry) {
  unlink(row, links, entry);
  if (row.index != nullptr) unlink(row.index->of(entry->tag), kInIndex<Entry>, entry);
}

template <class Entry>
[[gnu::cold, gnu::noinline]] void make_index(Row<Entry>& row, Links<Entry> links,
                                             std::forward_list<TagIndex<Entry>>& indexes) {
  row.index = &indexes.emplace_front();
  for (Entry* entry = row.first; entry != nullptr; entry = entry->*links.next) {
    append(row.index->of(entry->tag), kInIndex<Entry>, entry);
  }
}

/// The first entry with this tag in a list.
template <class Entry>
inline Entry* first_equal(const MatchList<Entry>& list, Links<Entry> links, int tag) {
  Entry* entry = list.first;
  while (entry != nullptr && entry->tag != tag) entry = entry->*links.next;
  return entry;
}

/// The first receive that takes a message with this tag.
inline PostedReceive* first_for_tag(MatchQueue& queue, Row<PostedReceive>& row, int tag) {
  if (row.index != nullptr) {
    PostedReceive* const with_tag = first_equal(row.index->of(tag), kInIndex<PostedReceive>, tag);
    PostedReceive* const any = row.index->any.first;
    return with_tag == nullptr || (any != nullptr && any->serial < with_tag->serial) ? any : with_tag;
  }
  PostedReceive* receive = row.first;
  int passed = 0;
  for (; receive != nullptr && receive->tag != tag && receive->tag != kAnyTag; receive = receive->next) {
    ++passed;
  }
  if (passed > kPassedMax) make_index(row, kPosted, queue.posted_indexes);
  return receive;
}

/// The first message that a receive with this tag takes.
inline ArrivedMessage* first_arrived(const MatchQueue& queue, int tag) {
  return tag == kAnyTag ? queue.arrived.first : first_equal(queue.arrived, kInQueue, tag);
}
inline ArrivedMessage* first_arrived(MatchQueue& queue, MatchLane& lane, int tag) {
  Row<ArrivedMessage>& row = lane.arrived;
  if (tag == kAnyTag) return row.first;
  if (row.index != nullptr) return first_equal(row.index->of(tag), kInIndex<ArrivedMessage>, tag);
  ArrivedMessage* message = row.first;
  int passed = 0;
  for (; message != nullptr && message->tag != tag; message = message->lane_next) ++passed;
  if (passed > kPassedMax) make_index(row, kInLane, queue.arrived_indexes);
  return message;
}

inline MatchLane* lane_of(MatchQueue& queue, int source) {
  const auto index = static_cast<std::size_t>(source);
  return index < queue.lanes.size() ? &queue.lanes[index] : nullptr;
}

inline MatchLane& need_lane(MatchQueue& queue, int source) {
  const auto index = static_cast<std::size_t>(source);
  if (index >= queue.lanes.size()) [[unlikely]]
    queue.lanes.grow(std::max(index + 1, 2 * queue.lanes.size()));
  return queue.lanes[index];
}

}  // namespace

Matching::Matching(QueueLevels& levels)
    : levels_(levels), slots_(std::size_t{1} << kFirstTableBits), shift_(64 - kFirstTableBits) {}

MatchQueue* Matching::search(Context context) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = home(context);; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.queue == nullptr) return nullptr;
    if (slot.context == context) return found_ = slot.queue.get();
  }
}

MatchQueue& Matching::make(Context context) {
  if (2 * (used_ + 1) > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = home(context);
  while (slots_[i].queue != nullptr) i = (i + 1) & mask;
  slots_[i].context = context;
  slots_[i].queue = std::make_unique<MatchQueue>(context);
  ++used_;
  return *slots_[i].queue;
}

void Matching::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  --shift_;
  const std::size_t mask = slots_.size() - 1;
  for (Slot& slot : old) {
    if (slot.queue == nullptr) continue;
    std::size_t i = home(slot.context);
    while (slots_[i].queue != nullptr) i = (i + 1) & mask;
    slots_[i] = std::move(slot);
  }
}

void Matching::forget(Context context) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t hole = home(context);
  while (slots_[hole].queue != nullptr && slots_[hole].context != context) hole = (hole + 1) & mask;
  if (slots_[hole].queue == nullptr) return;
  MatchQueue& queue = *slots_[hole].queue;
  while (queue.arrived.first != nullptr) remove(queue.arrived.first);
  while (queue.posted_any.first != nullptr) remove(queue.posted_any.first);
  for (std::size_t source = 0; source < queue.lanes.size(); ++source) {
    const MatchList<PostedReceive>& posted = queue.lanes[source].posted;
    while (posted.first != nullptr) remove(posted.first);
  }
  found_ = nullptr;
  slots_[hole].queue.reset();
  --used_;
  // Close the hole: a slot further on whose home lies at or before the hole has to stay reachable.
  for (std::size_t i = (hole + 1) & mask; slots_[i].queue != nullptr; i = (i + 1) & mask) {
    if (((i - home(slots_[i].context)) & mask) < ((i - hole) & mask)) continue;
    slots_[hole] = std::move(slots_[i]);
    hole = i;
  }
}

PostedReceive* Matching::match_arrival(Context context, int source, int tag) {
  MatchQueue* queue = find(context);
  if (queue == nullptr) return nullptr;
  PostedReceive* receive = first_for_tag(*queue, queue->posted_any, tag);
  if (MatchLane* lane = lane_of(*queue, source)) {
    PostedReceive* specific = first_for_tag(*queue, lane->posted, tag);
    if (specific != nullptr && (receive == nullptr || specific->serial < receive->serial)) receive = specific;
  }
  if (receive != nullptr) remove(receive);
  return receive;
}

void Matching::add(Context context, ArrivedMessage* message) {
  MatchQueue& queue = need(context);
  message->queue = &queue;
  append(queue.arrived, kInQueue, message);
  append_to_row(need_lane(queue, message->source).arrived, kInLane, message);
  ++entries_;
  levels_.unexpected_messages.add();
}

ArrivedMessage* Matching::find_arrived(Context context, int source, int tag) {
  MatchQueue* queue = find(context);
  if (queue == nullptr) return nullptr;
  if (source == kAnySource) return first_arrived(*queue, tag);
  MatchLane* lane = lane_of(*queue, source);
  return lane != nullptr ? first_arrived(*queue, *lane, tag) : nullptr;
}

bool Matching::is_first_of_queue(Context context, int source, int tag) {
  if (!may_be_first_) return false;
  MatchQueue* queue = find(context);
  if (queue == nullptr) return true;
  if (queue->posted_any.first != nullptr) return false;
  const MatchLane* lane = lane_of(*queue, source);
  if (lane == nullptr) return true;
  return lane->posted.first == nullptr && find_arrived(context, source, tag) == nullptr;
}

ArrivedMessage* Matching::post(Context context, PostedReceive* receive) {
  MatchQueue& queue = need(context);
  Row<PostedReceive>* row = &queue.posted_any;
  ArrivedMessage* arrived;
  if (receive->source == kAnySource) {
    arrived = first_arrived(queue, receive->tag);
  } else {
    MatchLane& lane = need_lane(queue, receive->source);
    row = &lane.posted;
    arrived = first_arrived(queue, lane, receive->tag);
  }
  if (arrived != nullptr) return arrived;
  receive->queue = &queue;
  receive->serial = queue.serial_next++;
  append_to_row(*row, kPosted, receive);
  ++entries_;
  levels_.posted_receives.add();
  return nullptr;
}

void Matching::remove(PostedReceive* receive) {
  assert(receive->queue != nullptr);
  MatchQueue& queue = *std::exchange(receive->queue, nullptr);
  Row<PostedReceive>& row =
      receive->source == kAnySource ? queue.posted_any : lane_of(queue, receive->source)->posted;
  unlink_from_row(row, kPosted, receive);
  --entries_;
  levels_.posted_receives.subtract();
}

void Matching::remove(ArrivedMessage* message) {
  assert(message->queue != nullptr);
  MatchQueue& queue = *std::exchange(message->queue, nullptr);
  unlink(queue.arrived, kInQueue, message);
  unlink_from_row(lane_of(queue, message->source)->arrived, kInLane, message);
  --entries_;
  levels_.unexpected_messages.subtract();
}

}  // namespace tasuki
