// ServedControl: the control of a window whose ranks are on several nodes, and so share no memory. Each rank
// serves what concerns its own part: it keeps the part's lock, with the queue of the ranks that want it, and
// counts the posts and completes that others send to it. All of it goes by messages (message/messenger.hpp),
// which their receiver carries out whenever it makes progress.
//
//   lock      the origin asks, the owner grants in the order of the requests (base/lock_queue.hpp)
//   unlock    the origin sends it behind its accesses; the owner gives the lock to the next when all of them
//             are done, and answers: one round trip for a flush and the unlock
//   post, complete   a message each, which the receiver counts
//   barrier   of messages (coll/coll.hpp), by ranks that have flushed what they sent
//
// The owner knows which ranks hold a lock, the rank that waits does not. After a while
// (kWatchAfterNanoseconds) that rank asks once, and from then on the owner names the ranks ahead of it
// whenever they change: for the doctor's report. Nothing is sent again and again, so a deadlocked job stands
// still.
//
// The messages between two ranks stay in order, and each is either answered or expected by its receiver
// before that rank can leave the barrier of MPI_Win_free: none comes after the window's end.
//
// Ownership: belongs to its window, as what it sends by does. Thread safety: the process lock.
//
// Invariants:
//  1. posts - posts_used and completes - completes_used are 0 or 1, but for a wait that has begun (-1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/lock_queue.hpp"
#include "base/types.hpp"
#include "object/comm.hpp"

namespace tasuki::rma {

/// What a message of the control is for.
enum class ControlVerb : std::uint16_t {
  kLockShared = 1,  // to the owner: the origin wants the lock
  kLockExclusive,   //
  kGranted,         // the owner's answer
  kWatch,           // to the owner: name the ranks that the origin waits for, now and whenever they change
  kAhead,           // the owner's answer: ranks (32 bits each) that are to give the lock back first
  kPost,            // to an origin: the target exposes its part
  kComplete,        // to a target: the origin's accesses are done
};

/// What the control sends by: the window's Messenger. What goes to one rank arrives in order, behind the
/// accesses that were sent to it before.
class ControlSender {
 public:
  /// `bytes` of payload, cut to what a message holds.
  virtual void send_control(int to, ControlVerb verb, const std::byte* payload, std::size_t bytes) = 0;
  /// A flush that gives back this rank's lock of the target, to be waited for by flush().
  virtual void send_flush_and_unlock(int target) = 0;
  /// Returns whether it has waited.
  virtual bool flush(int target) = 0;

 protected:
  ~ControlSender() = default;
};

class ServedControl {
 public:
  /// `comm` is that of `window`, which errors name.
  ServedControl(Comm& comm, const ErrorOwner& window, ControlSender& sender);

  // As those of SharedControl.
  void lock(int target, bool exclusive);
  void post(int origin);
  void wait_for_post(int target);
  void complete(int target);
  bool is_complete(int origin) const;
  void wait_until_complete(const std::vector<int>& origins);
  void consume_complete(int origin);
  void add_missing(std::vector<int>* endpoints) const;
  void barrier();

  /// Completes this rank's accesses to the targets and gives their locks back.
  void unlock(const std::vector<int>& targets);

  // What the Messenger hands over.
  void handle(int from, ControlVerb verb, const std::byte* payload, std::size_t payload_bytes);
  /// `origin`'s accesses are done, and it gives this rank's lock back.
  void release(int origin);

 private:
  /// What this rank knows of one peer.
  struct Peer {
    std::uint32_t posts = 0;           // that have come from it
    std::uint32_t posts_used = 0;      // of them, by wait_for_post()
    std::uint32_t completes = 0;       // that have come from it
    std::uint32_t completes_used = 0;  // of them, by consume_complete()
    bool is_granted = false;           // its lock, which this rank waits for or holds
    bool ahead_known = false;
    std::vector<int> ahead;    // as it has named them last, while this rank waits for its lock
    bool is_watching = false;  // it waits for this rank's lock, and has asked which ranks are ahead
  };
  enum class Awaited : std::uint8_t { kNothing, kLock, kPost, kCompletes };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& peer(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  template <class Done>
  void wait(Awaited what, int rank, Done&& done);
  void send(int to, ControlVerb verb, const std::vector<int>& ranks = {});
  void requested(int from, bool exclusive);
  void watch(int from);
  std::vector<int> ahead_of(int rank) const { return queue_.ahead_of(rank, kTicket); }
  void grant(int rank);
  void told_ahead(int from, const std::byte* payload, std::size_t payload_bytes);
  std::vector<int> missing() const;
  [[noreturn]] void damaged(int from, const char* what) const;

  Comm& comm_;
  const ErrorOwner& window_;
  ControlSender& sender_;
  static constexpr std::uint64_t kTicket = 0;  // a rank has one request at a time, for the whole part
  LockQueue queue_;                            // of this rank's part
  std::vector<Peer> peers_;
  Awaited awaited_ = Awaited::kNothing;  // by the wait that was begun last
  int awaited_rank_ = 0;
  std::vector<int> awaited_origins_;  // whose kCompletes
};

}  // namespace tasuki::rma
