// LockQueue: first come, first served.
#include "base/lock_queue.hpp"

#include <algorithm>

namespace tasuki {
namespace {

bool conflict(const LockQueue::Request& one, const LockQueue::Request& other) {
  return one.resource == other.resource && (one.exclusive || other.exclusive) && one.begin < other.end &&
         other.begin < one.end;
}

}  // namespace

bool LockQueue::is_kept_waiting(std::size_t place) const {
  for (std::size_t before = 0; before < place; ++before) {
    if (conflict(requests_[place], requests_[before])) return true;
  }
  return false;
}

bool LockQueue::add(const Request& request) {
  requests_.push_back(request);
  Request& added = requests_.back();
  added.holds = !is_kept_waiting(requests_.size() - 1);
  return added.holds;
}

const LockQueue::Request* LockQueue::find(int rank, std::uint64_t ticket) const {
  const auto found = std::find_if(requests_.begin(), requests_.end(), [&](const Request& one) {
    return one.rank == rank && one.ticket == ticket;
  });
  return found == requests_.end() ? nullptr : &*found;
}

bool LockQueue::remove(int rank, std::uint64_t ticket, std::vector<Request>* granted) {
  const Request* const found = find(rank, ticket);
  if (found == nullptr || !found->holds) return false;
  const std::uint64_t resource = found->resource;
  const auto first = found - requests_.data();
  requests_.erase(requests_.begin() + first);
  for (auto place = static_cast<std::size_t>(first); place < requests_.size(); ++place) {
    Request& later = requests_[place];
    if (later.holds || later.resource != resource || is_kept_waiting(place)) continue;
    later.holds = true;
    granted->push_back(later);
  }
  return true;
}

// Also the requests that those ahead wait for: a reader waits for the readers before the last writer.
std::vector<int> LockQueue::ahead_of(int rank, std::uint64_t ticket) const {
  const Request* const own = find(rank, ticket);
  if (own == nullptr) return {};
  std::vector<const Request*> chain = {own};
  std::vector<int> ahead;
  for (const Request* before = own; before != requests_.data();) {
    --before;
    const auto waits = [before](const Request* later) { return conflict(*later, *before); };
    if (std::none_of(chain.begin(), chain.end(), waits)) continue;
    chain.push_back(before);
    ahead.push_back(before->rank);
  }
  std::reverse(ahead.begin(), ahead.end());
  return ahead;
}

}  // namespace tasuki
