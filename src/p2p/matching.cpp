// Matching: the lists, the rules of order, and the table of queues.
#include "p2p/matching.hpp"

#include <cassert>
#include <utility>

namespace tasuki {

namespace {

constexpr int kFirstTableBits = 4;

template <class Entry>
void append(MatchList<Entry>& list, Entry* entry) {
  entry->previous = list.last;
  entry->next = nullptr;
  (list.last != nullptr ? list.last->next : list.first) = entry;
  list.last = entry;
}

template <class Entry>
void unlink(MatchList<Entry>& list, Entry* entry) {
  (entry->previous != nullptr ? entry->previous->next : list.first) = entry->next;
  (entry->next != nullptr ? entry->next->previous : list.last) = entry->previous;
}

void append_to_lane(MatchList<ArrivedMessage>& lane, ArrivedMessage* entry) {
  entry->lane_previous = lane.last;
  entry->lane_next = nullptr;
  (lane.last != nullptr ? lane.last->lane_next : lane.first) = entry;
  lane.last = entry;
}

void unlink_from_lane(MatchList<ArrivedMessage>& lane, ArrivedMessage* entry) {
  (entry->lane_previous != nullptr ? entry->lane_previous->lane_next : lane.first) = entry->lane_next;
  (entry->lane_next != nullptr ? entry->lane_next->lane_previous : lane.last) = entry->lane_previous;
}

inline bool tags_match(int wanted, int tag) {
  return wanted == tag || wanted == kAnyTag;
}

inline PostedReceive* first_for_tag(const MatchList<PostedReceive>& list, int tag) {
  PostedReceive* receive = list.first;
  while (receive != nullptr && !tags_match(receive->tag, tag)) receive = receive->next;
  return receive;
}

inline ArrivedMessage* first_arrived(const MatchQueue& queue, int tag) {
  ArrivedMessage* message = queue.arrived.first;
  while (message != nullptr && !tags_match(tag, message->tag)) message = message->next;
  return message;
}
inline ArrivedMessage* first_arrived(const MatchLane& lane, int tag) {
  ArrivedMessage* message = lane.arrived.first;
  while (message != nullptr && !tags_match(tag, message->tag)) message = message->lane_next;
  return message;
}

inline MatchLane* lane_of(MatchQueue& queue, int source) {
  const auto index = static_cast<std::size_t>(source);
  return index < queue.lanes.size() ? &queue.lanes[index] : nullptr;
}

inline MatchLane& need_lane(MatchQueue& queue, int source) {
  const auto index = static_cast<std::size_t>(source);
  if (index >= queue.lanes.size()) [[unlikely]]
    queue.lanes.resize(index + 1);
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
  for (MatchLane& lane : queue.lanes) {
    while (lane.posted.first != nullptr) remove(lane.posted.first);
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
  PostedReceive* receive = first_for_tag(queue->posted_any, tag);
  if (MatchLane* lane = lane_of(*queue, source)) {
    PostedReceive* specific = first_for_tag(lane->posted, tag);
    if (specific != nullptr && (receive == nullptr || specific->serial < receive->serial)) receive = specific;
  }
  if (receive != nullptr) remove(receive);
  return receive;
}

void Matching::add(Context context, ArrivedMessage* message) {
  MatchQueue& queue = need(context);
  message->queue = &queue;
  append(queue.arrived, message);
  append_to_lane(need_lane(queue, message->source).arrived, message);
  ++entries_;
  levels_.unexpected_messages.add();
}

ArrivedMessage* Matching::find_arrived(Context context, int source, int tag) {
  MatchQueue* queue = find(context);
  if (queue == nullptr) return nullptr;
  if (source == kAnySource) return first_arrived(*queue, tag);
  const MatchLane* lane = lane_of(*queue, source);
  return lane != nullptr ? first_arrived(*lane, tag) : nullptr;
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
  MatchList<PostedReceive>* list = &queue.posted_any;
  ArrivedMessage* arrived;
  if (receive->source == kAnySource) {
    arrived = first_arrived(queue, receive->tag);
  } else {
    MatchLane& lane = need_lane(queue, receive->source);
    list = &lane.posted;
    arrived = first_arrived(lane, receive->tag);
  }
  if (arrived != nullptr) return arrived;
  receive->queue = &queue;
  receive->serial = queue.serial_next++;
  append(*list, receive);
  ++entries_;
  levels_.posted_receives.add();
  return nullptr;
}

void Matching::remove(PostedReceive* receive) {
  assert(receive->queue != nullptr);
  MatchQueue& queue = *std::exchange(receive->queue, nullptr);
  unlink(receive->source == kAnySource ? queue.posted_any : lane_of(queue, receive->source)->posted, receive);
  --entries_;
  levels_.posted_receives.subtract();
}

void Matching::remove(ArrivedMessage* message) {
  assert(message->queue != nullptr);
  MatchQueue& queue = *std::exchange(message->queue, nullptr);
  unlink(queue.arrived, message);
  unlink_from_lane(lane_of(queue, message->source)->arrived, message);
  --entries_;
  levels_.unexpected_messages.subtract();
}

}  // namespace tasuki
