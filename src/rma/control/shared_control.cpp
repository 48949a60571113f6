// SharedControl: locks and counters in shared memory.
#include "rma/control/shared_control.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/system/clock.hpp"
#include "job/launcher.hpp"
#include "node/node.hpp"
#include "progress/progress.hpp"
#include "rma/control/dead_members.hpp"

namespace tasuki::rma {
namespace {

std::size_t ranks_of(int size) {
  return static_cast<std::size_t>(size);
}

/// So that 2^steps >= ranks.
std::size_t barrier_steps(int ranks) {
  return std::bit_width(static_cast<unsigned>(ranks) - 1);
}

constexpr const char* kWhoseTurn = "whose turn it is to lock a window";
/// How long tickets without an owner are taken for some that changed while this rank looked.
constexpr std::int64_t kOwnerlessNanosecondsMax = 1'000'000'000;

std::uint64_t claim_of(std::uint32_t ticket) {
  return std::uint64_t{1} << 32 | ticket;
}

std::uint32_t ticket_of(std::uint64_t claim) {
  return static_cast<std::uint32_t>(claim);
}

/// Whether a rank has made it, and with a ticket before `ticket`, as far as that is known.
bool comes_before(std::uint64_t claim, std::uint32_t ticket) {
  return claim == kMovesClaim || (claim != 0 && static_cast<std::int32_t>(ticket_of(claim) - ticket) < 0);
}

}  // namespace

std::size_t SharedControl::bytes_needed(int ranks) {
  const std::size_t size = ranks_of(ranks);
  return sizeof(Leavers) + size * (sizeof(TargetState) + sizeof(PartGuard) + sizeof(OriginMark) +
                                   sizeof(PostedCopy) + barrier_steps(ranks) * sizeof(BarrierFlag) +
                                   size * sizeof(PairState) + size * sizeof(Claim));
}

void SharedControl::begin(std::byte* memory, int ranks, WordWay way) {
  auto* const leavers = reinterpret_cast<Leavers*>(reinterpret_cast<TargetState*>(memory) + ranks_of(ranks));
  auto* const parts = reinterpret_cast<PartGuard*>(leavers + 1);
  for (int rank = 0; rank < ranks; ++rank) parts[rank].way.store(way, std::memory_order_release);
}

SharedControl::SharedControl(std::byte* memory, Comm& comm, const GuardRules& rules)
    : comm_(&comm),
      user_(&comm.process.node.lock_user()),
      rank_(comm.rank),
      size_(comm.size()),
      rules_(rules),
      targets_(reinterpret_cast<TargetState*>(memory)),
      leavers_(reinterpret_cast<Leavers*>(targets_ + size_)),
      parts_(reinterpret_cast<PartGuard*>(leavers_ + 1)),
      marks_(reinterpret_cast<OriginMark*>(parts_ + size_)),
      copies_(reinterpret_cast<PostedCopy*>(marks_ + size_)),
      flags_(reinterpret_cast<BarrierFlag*>(copies_ + size_)),
      pairs_(reinterpret_cast<PairState*>(flags_ + ranks_of(size_) * barrier_steps(size_))),
      claims_(reinterpret_cast<Claim*>(pairs_ + ranks_of(size_) * ranks_of(size_))),
      posts_used_(ranks_of(size_)),
      completes_used_(ranks_of(size_)) {}

BarrierFlag& SharedControl::flag(int rank, int step) const {
  return flags_[ranks_of(rank) * barrier_steps(size_) + ranks_of(step)];
}

/// Memory changes at any moment, so with a processor for each rank it is looked at often, and messages are
/// moved in between; with fewer processors every look would take time from the rank that is waited for.
template <class Done>
void SharedControl::wait(Awaited what, int rank, Done&& done) {
  if (done()) return;
  awaited_ = what;
  awaited_rank_ = rank;
  constexpr int kLooks = 32;
  const int looks = comm_->process.config.spin_count > 0 ? kLooks : 1;
  comm_->process.progress->wait_until([&] {
    for (int look = 0; look < looks; ++look) {
      if (done()) return true;
    }
    while (help_ != nullptr && help_(help_context_)) {
      if (done()) return true;
    }
    end_if_member_died(*comm_);
    return false;
  });
  awaited_ = Awaited::kNothing;
}

bool SharedControl::is_missing(int rank) const {
  switch (awaited_) {
    case Awaited::kLock:
      return comes_before(claim(rank, awaited_rank_).load(std::memory_order_relaxed),
                          ticket_of(claim(rank_, awaited_rank_).load(std::memory_order_relaxed)));
    case Awaited::kPost:
    case Awaited::kCopy:
      return rank == awaited_rank_;
    case Awaited::kCompletes:
      return std::find(awaited_origins_.begin(), awaited_origins_.end(), rank) != awaited_origins_.end() &&
             !is_complete(rank);
    case Awaited::kBarrier:
      // The first step shows which ranks have come; the others pass it on.
      return rank != rank_ &&
             static_cast<std::int32_t>(flag((rank + 1) % size_, 0).entered.load() - barriers_) < 0;
    case Awaited::kLeavers:  // all of them have come to the barrier
    case Awaited::kNothing:
      break;
  }
  return false;
}

void SharedControl::add_missing(std::vector<int>* endpoints) const {
  for (int rank = 0; rank < size_; ++rank) {
    if (is_missing(rank)) endpoints->push_back(comm_->endpoint(rank));
  }
}

Claim& SharedControl::claim(int origin, int target) const {
  return claims_[ranks_of(origin) * ranks_of(size_) + ranks_of(target)];
}

bool SharedControl::has_owners(int target, bool exclusive, std::uint32_t ticket) const {
  const TargetState& state = targets_[target];
  const std::uint32_t present = turn(state, exclusive);
  std::uint32_t owners = 0;
  bool owns_turn = false;
  for (int rank = 0; rank < size_; ++rank) {
    const std::uint64_t its = claim(rank, target).load(std::memory_order_acquire);
    if (!comes_before(its, ticket)) continue;
    ++owners;
    owns_turn = owns_turn || its == kMovesClaim || ticket_of(its) == present;
  }
  return exclusive ? owners >= ticket - present : owns_turn;
}

PairState& SharedControl::pair(int origin, int target) const {
  return pairs_[ranks_of(target) * ranks_of(size_) + ranks_of(origin)];
}

void SharedControl::wake(int rank) {
  comm_->process.node.wake(comm_->endpoint(rank));
}

void SharedControl::wake_all() {
  for (int rank = 0; rank < size_; ++rank) wake(rank);
}

void SharedControl::wait_for_turn(int target, bool exclusive, std::uint32_t ticket) {
  TargetState& state = targets_[target];
  std::uint32_t looks = 0;
  std::uint32_t last = turn(state, exclusive);
  std::int64_t ownerless_since_ns = clock_ns();
  state.waiting.fetch_add(1);
  wait(Awaited::kLock, target, [&] {
    constexpr std::uint32_t kLooksPerCheck = 32;
    const std::uint32_t now = turn(state, exclusive);
    check(now, ticket, size_, 0, target, kWhoseTurn);
    if (now == ticket || ++looks % kLooksPerCheck != 0) return now == ticket;
    const std::int64_t now_ns = clock_ns();
    if (now != std::exchange(last, now) || has_owners(target, exclusive, ticket)) ownerless_since_ns = now_ns;
    if (now_ns - ownerless_since_ns > kOwnerlessNanosecondsMax) damaged(target, kWhoseTurn);
    return false;
  });
  state.waiting.fetch_sub(1);
}

/// REQUIRES: entered_readers is the ticket of this rank, which alone changes it now.
void SharedControl::admit_next_reader(TargetState& state) {
  state.tickets.fetch_add(LockTickets{.entered_readers = 1}.word());
}

// Draws a ticket; and where it is a reader's whose turn it is, admits the next one with the same instruction:
// then no rank waits for that.
void SharedControl::lock(int target, bool exclusive) {
  TargetState& state = targets_[target];
  std::uint64_t found = state.tickets.load(std::memory_order_relaxed);
  LockTickets tickets;
  bool enters = false;
  claim(rank_, target).store(kMovesClaim, std::memory_order_relaxed);  // the next instruction publishes it
  do {
    tickets = LockTickets::of(found);
    enters = !exclusive && tickets.entered_readers == tickets.next;
  } while (!state.tickets.compare_exchange_weak(
      found, LockTickets{tickets.next + 1, tickets.entered_readers + (enters ? 1 : 0)}.word()));
  const std::uint32_t ticket = tickets.next;
  claim(rank_, target).store(claim_of(ticket), std::memory_order_relaxed);
  if (enters) return;
  if (turn(state, exclusive) != ticket) wait_for_turn(target, exclusive, ticket);
  if (exclusive) return;
  admit_next_reader(state);  // if it reads too, it may come in
  if (state.waiting.load() != 0) wake_all();
}

void SharedControl::unlock(int target, bool exclusive) {
  TargetState& state = targets_[target];
  claim(rank_, target).store(kMovesClaim, std::memory_order_relaxed);
  if (exclusive) admit_next_reader(state);
  state.done.fetch_add(1);
  claim(rank_, target).store(0, std::memory_order_release);
  if (state.waiting.load() != 0) wake_all();
}

void SharedControl::post(int origin) {
  pair(origin, rank_).posts.fetch_add(1);
  wake(origin);
}

void SharedControl::wait_for_post(int target) {
  const std::uint32_t used = posts_used_[ranks_of(target)]++;
  const PairState& state = pair(rank_, target);
  wait(Awaited::kPost, target, [&] {
    const std::uint32_t posts = state.posts.load();
    check(posts, used, 0, 1, target, "how often a window was exposed");
    return posts != used;
  });
}

void SharedControl::complete(int target) {
  pair(rank_, target).completes.fetch_add(1);
  wake(target);
}

bool SharedControl::is_complete(int origin) const {
  const std::uint32_t completes = pair(origin, rank_).completes.load();
  const std::uint32_t used = completes_used_[ranks_of(origin)];
  check(completes, used, 0, 1, origin, "how often an access to a window was completed");
  return completes != used;
}

void SharedControl::consume_complete(int origin) {
  ++completes_used_[ranks_of(origin)];
}

void SharedControl::wait_until_complete(const std::vector<int>& origins) {
  awaited_origins_ = origins;
  wait(Awaited::kCompletes, 0, [&] {
    return std::all_of(origins.begin(), origins.end(), [this](int origin) { return is_complete(origin); });
  });
}

void SharedControl::wait_for_copy(int target, CooperativeCopyEnd& end) {
  wait(Awaited::kCopy, target, [&] {
    if (is_copied(copies_[target], end)) return true;
    if (!is_sound(copies_[target], end)) damaged(target, "how far a copy is");
    return false;
  });
}

// Each step doubles the ranks that a rank knows to have come: in step s it sets a flag of the rank 2^s after
// it.
void SharedControl::barrier() {
  const std::uint32_t count = ++barriers_;
  int distance = 1;
  for (int step = 0; distance < size_; ++step, distance *= 2) {
    const int next = (rank_ + distance) % size_;
    flag(next, step).entered.store(count);
    wake(next);
    const std::atomic<std::uint32_t>& own = flag(rank_, step).entered;
    const int previous = (rank_ - distance + size_) % size_;
    // The other one may have come to its next barrier already.
    wait(Awaited::kBarrier, 0, [&] {
      const std::uint32_t entered = own.load();
      check(entered, count, 1, 1, previous, "the barrier of a window");
      return static_cast<std::int32_t>(entered - count) >= 0;
    });
  }
}

void SharedControl::leave() {
  if (rank_ != 0) {
    leavers_->count.fetch_add(1);
    return wake(0);
  }
  const auto others = static_cast<std::uint32_t>(size_ - 1);
  wait(Awaited::kLeavers, 0, [&] { return leavers_->count.load() >= others; });
}

void SharedControl::damaged(int rank, const char* what) const {
  comm_->process.launcher.end_damaged(comm_->endpoint(rank), what);
}

}  // namespace tasuki::rma
