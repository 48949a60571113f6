// RangeQueue: see range_queue.hpp.
#include "io/shared/range_queue.hpp"

#include <algorithm>

namespace tasuki {
namespace {

bool conflict(const RangeQueue::Request& one, const RangeQueue::Request& other) {
  return one.file == other.file && (one.exclusive || other.exclusive) && one.range.begin < other.range.end &&
         other.range.begin < one.range.end;
}

}  // namespace

bool RangeQueue::is_kept_waiting(std::size_t place) const {
  for (std::size_t before = 0; before < place; ++before) {
    if (conflict(requests_[place], requests_[before])) return true;
  }
  return false;
}

bool RangeQueue::add(const Request& request) {
  requests_.push_back(request);
  Request& added = requests_.back();
  added.holds = !is_kept_waiting(requests_.size() - 1);
  return added.holds;
}

bool RangeQueue::remove(int rank, std::uint64_t ticket, std::vector<Request>* granted) {
  const auto found = std::find_if(requests_.begin(), requests_.end(), [&](const Request& one) {
    return one.rank == rank && one.ticket == ticket;
  });
  if (found == requests_.end() || !found->holds) return false;
  const auto first = static_cast<std::size_t>(found - requests_.begin());
  const std::uint64_t file = found->file;
  requests_.erase(found);
  for (std::size_t place = first; place < requests_.size(); ++place) {
    Request& later = requests_[place];
    if (later.holds || later.file != file || is_kept_waiting(place)) continue;
    later.holds = true;
    granted->push_back(later);
  }
  return true;
}

}  // namespace tasuki
