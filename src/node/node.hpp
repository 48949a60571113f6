// Node: what the ranks of one machine share, and what a rank can know of those beside it: their processes,
// doorbells, pages of a pair, call boards, the heap, locks on file ranges, processors. With mpiexec --nodes a
// virtual node is one, though several lie on a machine.
//
// All of it is sized by the ranks on this node, which are numbered 0 .. size() - 1 in the order of their
// ranks in the job. Endpoints are those of the link (link/link.hpp): the job's ranks, then processes of other
// jobs.
//
// Implemented by: node/shared_node.hpp (what lies in memory that the ranks map), and upon it job/local/ (our
// mpiexec, a program alone) and the unit tests.
//
// Thread safety: as Link; wake() may be called from any thread of the rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/calls/call_board.hpp"
#include "base/system/shared_lock.hpp"
#include "memory/symmetric_heap.hpp"

namespace tasuki {

inline constexpr std::size_t kPairPageBytes = 4096;  // of Node::pair_page

class Node {
 public:
  /// `ranks`: those of the job that are on this node, ascending; `rank` is this one's.
  Node(std::vector<int> ranks, int rank) : ranks_(std::move(ranks)), rank_(rank), self_(number(rank)) {}
  virtual ~Node() = default;

  static constexpr int kElsewhere = -1;
  int size() const { return static_cast<int>(ranks_.size()); }
  int self() const { return self_; }
  int rank() const { return rank_; }  // of this one in the job
  const std::vector<int>& ranks() const { return ranks_; }
  /// The number on this node of a rank of the job, or kElsewhere.
  int number(int rank) const {
    const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
    return found != ranks_.end() && *found == rank ? static_cast<int>(found - ranks_.begin()) : kElsewhere;
  }
  bool has(int rank) const { return number(rank) != kElsewhere; }

  // --- processes and processors ---

  /// The system's number of the process that is `rank`; -1 when unknown, or when it has not come yet.
  /// REQUIRES: has(rank).
  virtual int process_id(int /*rank*/) const { return -1; }

  /// Whether that process has ended for certain. False where this one cannot know. REQUIRES: has(rank).
  virtual bool has_died(int /*rank*/) const { return false; }

  /// Processors that the machine offers to all ranks of the job on it (affinity and cgroup quota), at
  /// least 1.
  virtual int processors_available() const = 0;

  /// What each node of the job has of them for its ranks, as all ranks know alike: virtual nodes a share of
  /// one machine's, of hosts that differ as many as the one that has the fewest.
  virtual double processors_per_node() const { return processors_available(); }

  /// The job's ranks on this machine, which share them: those of other virtual nodes, too.
  virtual int ranks_on_machine() const { return size(); }

  /// Where ranks share processors: the one that is this rank's share. It may run elsewhere. -1: none is.
  virtual int home_processor() const { return -1; }

  /// This rank, as a user of locks in memory that the ranks of this node share; its number there is self().
  /// REQUIRES: it has been set.
  const LockUser& lock_user() const { return *lock_user_; }
  void set_lock_user(std::unique_ptr<LockUser> user) { lock_user_ = std::move(user); }

  // --- memory ---

  /// Where this rank says which call it is in: memory that the launcher reads, or else private memory.
  virtual CallBoard& call_board() {
    if (own_board_ == nullptr) own_board_ = std::make_unique<CallBoard>();
    return *own_board_;
  }

  /// The heap of this rank, as far as it is shared. Called once.
  virtual std::unique_ptr<SymmetricHeap> make_symmetric_heap() { return make_private_heap(); }

  /// Memory that the ranks of this node map, RangeTable::bytes_needed(size()) of it, aligned to 64 and zero
  /// at first: the locks of file ranges. Null where there is none.
  virtual std::byte* file_locks() { return nullptr; }

  /// kPairPageBytes of memory, aligned to 64, that the ranks `from` and `to` both map, zero at first: for
  /// what the protocols agree on about messages from the one to the other. Null where there is none, and for
  /// a rank that is elsewhere.
  virtual std::byte* pair_page(int /*from*/, int /*to*/) { return nullptr; }

  // --- waking ---

  /// Wakes `endpoint`, a process of this machine, if it sleeps: something that it waits for has changed in
  /// memory that both map. The change was made seq_cst, and the peer looks at it seq_cst between arm() and
  /// sleep(), so it misses none.
  virtual void wake(int /*endpoint*/) {}

  /// Whether `endpoint` has a fence run on all ranks' processors after arm(), so that wake() may follow a
  /// change that was made with release. Once true, so it stays; not yet where the peer has not started.
  virtual bool sleeps_with_fence(int /*endpoint*/) const { return false; }

 private:
  std::vector<int> ranks_;
  int rank_;
  int self_;
  std::unique_ptr<CallBoard> own_board_;
  std::unique_ptr<LockUser> lock_user_;
};

}  // namespace tasuki
