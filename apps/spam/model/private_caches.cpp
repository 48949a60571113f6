// See private_caches.hpp.
#include "private_caches.hpp"

#include <algorithm>

namespace spam {

PrivateCaches::PrivateCaches(CacheShape shape, int threads)
    : shape_(shape),
      threads_(threads),
      sets_(shape.bytes / shape.line_bytes / shape.ways),
      ways_(static_cast<std::size_t>(threads) * sets_ * shape.ways) {}

PrivateCaches::Way* PrivateCaches::find(int thread, std::uint64_t line) {
  Way* set = set_of(thread, line);
  Way* end = set + shape_.ways;
  Way* found =
      std::find_if(set, end, [&](const Way& way) { return way.line == line && way.state != State::kEmpty; });
  return found == end ? nullptr : found;
}

void PrivateCaches::access(int thread, std::uint64_t line, bool write, bool counted) {
  CacheCounts now{1, 0, 0, 0};
  Way* set = set_of(thread, line);
  const Way* known = find(thread, line);
  const State before = known == nullptr ? State::kEmpty : known->state;
  State after = before;
  if (before == State::kEmpty || before == State::kLost) {
    now.misses = now.transactions = 1;
    now.lost = before == State::kLost ? 1 : 0;
    const bool shared = take_from_others(thread, line, write);
    after = shared && !write ? State::kShared : State::kExclusive;
  } else if (write && before == State::kShared) {
    now.transactions = 1;
    take_from_others(thread, line, true);
  }
  if (write) after = State::kModified;
  if (make_room(set, line)) now.transactions += 1;
  set[0] = {line, after};
  if (!counted) return;
  counts_.references += now.references;
  counts_.misses += now.misses;
  counts_.lost += now.lost;
  counts_.transactions += now.transactions;
}

/// Whether another cache has the line. After a write none has.
bool PrivateCaches::take_from_others(int thread, std::uint64_t line, bool write) {
  bool shared = false;
  for (int other = 0; other < threads_; ++other) {
    if (other == thread) continue;
    Way* way = find(other, line);
    if (way == nullptr || way->state == State::kLost) continue;
    shared = true;
    way->state = write ? State::kLost : State::kShared;
  }
  return shared;
}

/// Frees the first way, by moving others back: up to where the line was, or else all, the oldest out. Whether
/// that one has to be written back.
bool PrivateCaches::make_room(Way* set, std::uint64_t line) {
  Way* last = set;
  while (last < set + shape_.ways - 1 && last->line != line) ++last;
  const bool leaves = last->line != line && last->state == State::kModified;
  std::move_backward(set, last, last + 1);
  return leaves;
}

}  // namespace spam
