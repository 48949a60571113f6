// ServedControl: locks and counters by messages.
#include "rma/control/served_control.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "coll/byte_collectives.hpp"
#include "job/launcher.hpp"
#include "progress/progress.hpp"
#include "rma/control/dead_members.hpp"

namespace tasuki::rma {
namespace {

constexpr std::int64_t kWatchAfterNanoseconds = 20'000'000;

}  // namespace

ServedControl::ServedControl(Comm& comm, const ErrorOwner& window, ControlSender& sender)
    : comm_(comm), window_(window), sender_(sender), peers_(static_cast<std::size_t>(comm.size())) {}

/// Only what this rank handles changes what it waits for.
template <class Done>
void ServedControl::wait(Awaited what, int rank, Done&& done) {
  if (done()) return;
  awaited_ = what;
  awaited_rank_ = rank;
  comm_.process.progress->wait_until([&] {
    if (done()) return true;
    end_if_member_died(comm_);
    return false;
  });
  awaited_ = Awaited::kNothing;
}

void ServedControl::send(int to, ControlVerb verb, const std::vector<int>& ranks) {
  const auto* payload = reinterpret_cast<const std::byte*>(ranks.data());
  const std::size_t bytes = ranks.size() * sizeof ranks[0];
  if (to == comm_.rank) return handle(to, verb, payload, bytes);
  sender_.send_control(to, verb, payload, bytes);
}

void ServedControl::damaged(int from, const char* what) const {
  comm_.process.launcher.end_damaged(comm_.endpoint(from),
                                     "a message for " + window_.description() + ": " + what);
}

void ServedControl::handle(int from, ControlVerb verb, const std::byte* payload, std::size_t payload_bytes) {
  Peer& other = peer(from);
  switch (verb) {
    case ControlVerb::kLockShared:
      return requested(from, false);
    case ControlVerb::kLockExclusive:
      return requested(from, true);
    case ControlVerb::kGranted:
      if (other.is_granted) damaged(from, "a lock that is held was granted");
      other.is_granted = true;
      return;
    case ControlVerb::kWatch:
      return watch(from);
    case ControlVerb::kAhead:
      return told_ahead(from, payload, payload_bytes);
    case ControlVerb::kPost:
      if (static_cast<std::int32_t>(other.posts - other.posts_used) > 0)
        damaged(from, "the window was exposed twice");
      ++other.posts;
      return;
    case ControlVerb::kComplete:
      if (static_cast<std::int32_t>(other.completes - other.completes_used) > 0)
        damaged(from, "an access was completed twice");
      ++other.completes;
      return;
  }
  damaged(from, "of no known kind");
}

// ----- locks: the owner ------------------------------------------------------------------------------------

void ServedControl::requested(int from, bool exclusive) {
  if (queue_.find(from, kTicket) != nullptr) damaged(from, "a lock that is held was asked for");
  if (queue_.add({.rank = from, .ticket = kTicket, .exclusive = exclusive})) grant(from);
}

void ServedControl::release(int origin) {
  std::vector<LockQueue::Request> granted;
  if (!queue_.remove(origin, kTicket, &granted)) damaged(origin, "a lock that is not held was given back");
  for (const LockQueue::Request& request : granted) grant(request.rank);
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (peer(rank).is_watching) send(rank, ControlVerb::kAhead, ahead_of(rank));
  }
}

void ServedControl::grant(int rank) {
  peer(rank).is_watching = false;
  send(rank, ControlVerb::kGranted);
}

/// It may have been granted meanwhile.
void ServedControl::watch(int from) {
  const LockQueue::Request* const request = queue_.find(from, kTicket);
  if (request == nullptr || request->holds) return;
  peer(from).is_watching = true;
  send(from, ControlVerb::kAhead, ahead_of(from));
}

// ----- locks: the origin -----------------------------------------------------------------------------------

void ServedControl::lock(int target, bool exclusive) {
  Peer& owner = peer(target);
  owner.is_granted = false;
  owner.ahead_known = false;
  send(target, exclusive ? ControlVerb::kLockExclusive : ControlVerb::kLockShared);
  const Progress& progress = *comm_.process.progress;
  const std::int64_t watch_at_ns = progress.now_ns() + kWatchAfterNanoseconds;
  bool watches = target == comm_.rank;  // it knows its own queue
  wait(Awaited::kLock, target, [&] {
    if (owner.is_granted || watches || progress.now_ns() < watch_at_ns) return owner.is_granted;
    watches = true;
    send(target, ControlVerb::kWatch);
    return owner.is_granted;
  });
}

void ServedControl::unlock(const std::vector<int>& targets) {
  for (const int target : targets) {
    peer(target).is_granted = false;
    if (target != comm_.rank) sender_.send_flush_and_unlock(target);
  }
  for (const int target : targets) {
    if (target == comm_.rank) release(target);
    sender_.flush(target);
  }
}

/// A rank that has no place among the window's is left out.
void ServedControl::told_ahead(int from, const std::byte* payload, std::size_t payload_bytes) {
  std::vector<int>& ahead = peer(from).ahead;
  ahead.clear();
  for (std::size_t at = 0; at + sizeof(int) <= payload_bytes; at += sizeof(int)) {
    int rank = 0;
    std::memcpy(&rank, payload + at, sizeof rank);
    if (rank >= 0 && rank < comm_.size()) ahead.push_back(rank);
  }
  peer(from).ahead_known = true;
}

// ----- active targets --------------------------------------------------------------------------------------

void ServedControl::post(int origin) {
  send(origin, ControlVerb::kPost);
}

void ServedControl::wait_for_post(int target) {
  const Peer& other = peer(target);
  const std::uint32_t used = peer(target).posts_used++;
  wait(Awaited::kPost, target, [&] { return other.posts != used; });
}

void ServedControl::complete(int target) {
  send(target, ControlVerb::kComplete);
}

bool ServedControl::is_complete(int origin) const {
  return peer(origin).completes != peer(origin).completes_used;
}

void ServedControl::consume_complete(int origin) {
  ++peer(origin).completes_used;
}

void ServedControl::wait_until_complete(const std::vector<int>& origins) {
  awaited_origins_ = origins;
  wait(Awaited::kCompletes, 0, [&] {
    return std::all_of(origins.begin(), origins.end(), [this](int origin) { return is_complete(origin); });
  });
}

void ServedControl::barrier() {
  if (barrier_by_messages(comm_) == kSuccess) return;
  comm_.process.launcher.abort(1, "rank " + std::to_string(comm_.process.rank) + ": the barrier of " +
                                      window_.description() + " failed");
}

// ----- the report ------------------------------------------------------------------------------------------

/// The ranks that the wait under way is for. The owner of a lock is one of them until it has answered.
std::vector<int> ServedControl::missing() const {
  std::vector<int> ranks;
  switch (awaited_) {
    case Awaited::kLock:
      if (awaited_rank_ == comm_.rank) return ahead_of(awaited_rank_);
      return peer(awaited_rank_).ahead_known ? peer(awaited_rank_).ahead : std::vector<int>{awaited_rank_};
    case Awaited::kPost:
      return {awaited_rank_};
    case Awaited::kCompletes:
      std::copy_if(awaited_origins_.begin(), awaited_origins_.end(), std::back_inserter(ranks),
                   [this](int origin) { return !is_complete(origin); });
      break;
    case Awaited::kNothing:
      break;
  }
  return ranks;
}

void ServedControl::add_missing(std::vector<int>* endpoints) const {
  for (const int rank : missing()) endpoints->push_back(comm_.endpoint(rank));
}

}  // namespace tasuki::rma
