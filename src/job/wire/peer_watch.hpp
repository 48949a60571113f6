// PeerWatch: whether the processes of this machine that are ranks of the job are there still. No launcher but
// ours is sure to end a job when one of its ranks ends without MPI_Finalize; so a rank that waits looks.
//
// WatchingWaiter: the usual waiter, which looks at some of the others after a sleep, every 100 ms.
//
// Thread safety: start() before all else; then all may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/system/process_state.hpp"
#include "link/link.hpp"
#include "link/waiter.hpp"

namespace tasuki::wire {

class PeerWatch {
 public:
  struct Peer {
    int rank;
    ProcessIdentity process;
    const std::atomic<std::uint32_t>* finalized;  // then it may end
  };

  /// `peers`: the other ranks of this machine.
  void start(std::vector<Peer> peers) { peers_ = std::move(peers); }

  /// The lowest rank that has ended, or (first_exiting) is about to, without having said that it may; -1:
  /// none. Looks at all.
  int first_ended() const;
  int first_exiting() const;

  /// The same of a few of them, others each time.
  int next_ended();

 private:
  static constexpr std::size_t kPeersEach = 8;
  std::vector<Peer> peers_;
  std::atomic<std::uint32_t> next_{0};
};

class WatchingWaiter final : public Waiter {
 public:
  /// `end(rank)` is called when that one has been found to have ended.
  WatchingWaiter(Link& link, PeerWatch& peers, std::function<void(int)> end)
      : link_(&link), peers_(peers), end_(std::move(end)) {}
  void offer_processor() override;
  std::uint32_t arm() override { return link_->arm(); }
  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override;
  void disarm() override { link_->disarm(); }
  void ring() override { link_->ring(); }
  void use(Link& link) override { link_ = &link; }

 private:
  Link* link_;
  PeerWatch& peers_;
  std::function<void(int)> end_;
  std::atomic<std::int64_t> looked_ns_{0};
};

}  // namespace tasuki::wire
