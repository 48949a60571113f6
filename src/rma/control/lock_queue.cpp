// LockQueue: first come, first served.
#include "rma/control/lock_queue.hpp"

#include <algorithm>

namespace tasuki::rma {

bool LockQueue::is_waiting(int origin) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [origin](const Entry& entry) { return entry.origin == origin; });
}

bool LockQueue::request(int origin, bool exclusive) {
  const bool holds = std::any_of(holders_.begin(), holders_.end(),
                                 [origin](const Entry& entry) { return entry.origin == origin; });
  if (holds || is_waiting(origin)) return false;
  waiting_.push_back({origin, exclusive});
  return true;
}

bool LockQueue::release(int origin) {
  return std::erase_if(holders_, [origin](const Entry& entry) { return entry.origin == origin; }) != 0;
}

int LockQueue::grant_next() {
  if (waiting_.empty() || !may_enter(waiting_.front().exclusive)) return -1;
  holders_.push_back(waiting_.front());
  waiting_.pop_front();
  return holders_.back().origin;
}

// A reader needs only those up to the last writer before it: it enters together with the readers behind that
// one.
std::vector<int> LockQueue::ahead_of(int origin) const {
  const auto own = std::find_if(waiting_.begin(), waiting_.end(),
                                [origin](const Entry& entry) { return entry.origin == origin; });
  std::vector<int> ahead;
  if (own == waiting_.end()) return ahead;
  for (const Entry& holder : holders_) ahead.push_back(holder.origin);
  auto end = own;
  while (!own->exclusive && end != waiting_.begin() && !std::prev(end)->exclusive) --end;
  for (auto entry = waiting_.begin(); entry != end; ++entry) ahead.push_back(entry->origin);
  return ahead;
}

}  // namespace tasuki::rma
