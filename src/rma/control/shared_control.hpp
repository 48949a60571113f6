// SharedControl: the control of a window whose ranks are all on one node: locks, counters, the barrier of a
// fence. It lies in memory that all of them map, rank 0's or the window's segment, so synchronizing needs no
// message and no help from the target.
//
// Waiting goes through Progress: a rank that waits goes on moving its messages, and sleeps when nothing
// happens. A rank that changes what another one may wait for wakes it (Node::wake); all changes and
// looks are seq_cst, as that demands.
//
// Locks are fair: a ticket is drawn by every rank that wants one, writers and readers are served in the order
// of their tickets, and readers that follow each other hold the lock together. So neither can starve.
//
// Ownership: each shared field names its writer. SharedControl is a view; the memory belongs to the window.
// Thread safety: the shared fields are atomic; each SharedControl belongs to one rank, guarded by its process
// lock.
//
// Invariants of a TargetState:
//  1. entered_readers <= next and done <= next; done counts tickets that are over.
//  2. A writer holds the lock when done == its ticket, a reader when entered_readers reached its ticket.
//  3. Each ticket that is not over stands in the claim of the rank that drew it, or that is kMovesClaim.
//  4. What others write is not trusted: a rank that waits checks whether the value can be right, and ends the
//  job if not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "object/comm.hpp"
#include "rma/control/element_guard.hpp"
#include "rma/control/posted_copy.hpp"

namespace tasuki::rma {

/// Of one rank in one step of a barrier: that many barriers has the rank 2^step before it entered.
struct alignas(64) BarrierFlag {
  std::atomic<std::uint32_t> entered;  // writer: that rank
};

/// Of one rank as a target.
struct alignas(64) TargetState {
  std::atomic<std::uint64_t> tickets;  // a LockTickets; writer: a rank that wants the lock, the reader whose
                                       // turn it is, a writer that leaves
  std::atomic<std::uint32_t> done;     // tickets that are over; writer: a rank that leaves
  std::atomic<std::uint32_t> waiting;  // ranks that wait; writer: those
};

/// What the word of a lock means: with it in one word, a lock that nobody waits for takes one instruction.
struct LockTickets {
  std::uint32_t next = 0;             // tickets drawn
  std::uint32_t entered_readers = 0;  // the ticket before which no reader has to wait any more

  static LockTickets of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
  }
  std::uint64_t word() const { return std::uint64_t{entered_readers} << 32 | next; }
};

/// Of an origin and a target (post-start-complete-wait).
struct PairState {
  std::atomic<std::uint32_t> posts;      // times that the target exposed itself to the origin; writer: target
  std::atomic<std::uint32_t> completes;  // times that the origin was done with it; writer: origin
};

/// Of a window that ends: the ranks that will not look at the control memory again; writer: those.
struct alignas(64) Leavers {
  std::atomic<std::uint32_t> count;
};

/// What an origin has drawn at a target: a ticket and 1 above it while it waits or holds the lock;
/// kMovesClaim while it draws one or gives one back, at any instruction of which it may be stopped; else 0.
/// Writer: the origin.
using Claim = std::atomic<std::uint64_t>;
inline constexpr std::uint64_t kMovesClaim = std::uint64_t{2} << 32;

class SharedControl final {
 public:
  static std::size_t bytes_needed(int ranks);

  /// What this rank can do while it waits: copy a piece of a job that an origin has posted (posted_copy.hpp).
  /// Returns whether it did.
  using Help = bool (*)(void* context);

  /// Of memory that is zero, before any rank makes a SharedControl of it: how its words are combined at
  /// first.
  static void begin(std::byte* memory, int ranks, WordWay way);

  /// `memory` holds bytes_needed(comm.size()) bytes that all ranks of `comm` map, zero at first but for
  /// begin(). `rules`: the same at all ranks.
  SharedControl(std::byte* memory, Comm& comm, const GuardRules& rules);
  void set_help(Help help, void* context) {
    help_ = help;
    help_context_ = context;
  }

  PostedCopy& posted_copy(int target) { return copies_[target]; }
  /// Of accumulates at `target`, whose part begins at `base` here. `among_threads`: several threads of this
  /// rank may combine at once.
  ElementGuard element_guard(int target, const std::byte* base, bool among_threads) const {
    if (size_ == 1 && !among_threads) return {};
    return {parts_[target], marks_, rank_, size_, base, rules_, *user_};
  }

  // Passive targets. lock() returns once it is held; the user's locks do not nest.
  void lock(int target, bool exclusive);
  void unlock(int target, bool exclusive);

  // Active targets.
  void post(int origin);
  void wait_for_post(int target);      // one wait per post
  void complete(int target);           //
  bool is_complete(int origin) const;  // since the last consume_complete()
  void wait_until_complete(const std::vector<int>& origins);
  void consume_complete(int origin);  // REQUIRES: is_complete(origin)

  /// Returns once `target` has copied what it claimed of this rank's job at posted_copy(target), and has
  /// left.
  void wait_for_copy(int target, CooperativeCopyEnd& end);

  /// Adds the endpoints of those that a wait under way is for: of a lock, those that hold it or come first.
  void add_missing(std::vector<int>* endpoints) const;

  /// Returns once all ranks have come here. What a rank did to memory before it, all see after it.
  void barrier();

  /// The last call, behind a barrier: at rank 0 it returns once no other rank looks at the memory any more.
  void leave();

  /// Has `rank`, if it sleeps, look at what it waits for.
  void wake(int rank);

 private:
  PairState& pair(int origin, int target) const;
  BarrierFlag& flag(int rank, int step) const;
  /// What a wait is for, and for which rank.
  enum class Awaited : std::uint8_t { kNothing, kLock, kPost, kCompletes, kCopy, kBarrier, kLeavers };
  template <class Done>
  void wait(Awaited what, int rank, Done&& done);
  Claim& claim(int origin, int target) const;
  /// Whether the tickets that are to be over before `ticket` have owners, or may have: never again where a
  /// counter was overwritten.
  bool has_owners(int target, bool exclusive, std::uint32_t ticket) const;
  /// The ticket whose turn it is to read or, exclusively, to write.
  static std::uint32_t turn(const TargetState& state, bool exclusive) {
    return exclusive ? state.done.load() : LockTickets::of(state.tickets.load()).entered_readers;
  }
  static void admit_next_reader(TargetState& state);
  void wait_for_turn(int target, bool exclusive, std::uint32_t ticket);
  bool is_missing(int rank) const;
  void wake_all();
  /// `value`, which `rank` writes, while this rank waits for it to be `wanted` or more: it is at most
  /// `behind` less or `ahead` more.
  void check(std::uint32_t value, std::uint32_t wanted, int behind, int ahead, int rank,
             const char* what) const {
    const auto difference = static_cast<std::int32_t>(value - wanted);
    if (difference < -behind || difference > ahead) [[unlikely]]
      damaged(rank, what);
  }
  [[noreturn]] void damaged(int rank, const char* what) const;

  Comm* comm_;
  const LockUser* user_;
  int rank_;
  int size_;
  GuardRules rules_;
  TargetState* targets_;
  Leavers* leavers_;
  PartGuard* parts_;    // by target
  OriginMark* marks_;   // by origin
  PostedCopy* copies_;  // by target
  BarrierFlag* flags_;  // by rank and step
  PairState* pairs_;
  Claim* claims_;  // by origin and target
  Help help_ = nullptr;
  void* help_context_ = nullptr;
  std::uint32_t barriers_ = 0;
  Awaited awaited_ = Awaited::kNothing;  // by the wait that was begun last
  int awaited_rank_ = 0;
  std::vector<int> awaited_origins_;           // whose kCompletes
  std::vector<std::uint32_t> posts_used_;      // by target
  std::vector<std::uint32_t> completes_used_;  // by origin
};

}  // namespace tasuki::rma
