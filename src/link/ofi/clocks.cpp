// OfiLink: peers that cannot be reached, and leaving.
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "link/ofi/ofi_link.hpp"

namespace tasuki {
namespace {

using ofi::Probe;

// The launcher names the root cause of what a lost packet only follows from.
constexpr std::int64_t kBrokenNs = 500 * kMillisecondNs;
constexpr std::int64_t kPatienceNsMax = std::int64_t{3600} * 1000 * kMillisecondNs;
constexpr std::int64_t kLeavingPatienceNs = 100 * kMillisecondNs;
constexpr std::int64_t kByeNs = 1000 * kMillisecondNs;      // that a rank waits for the answers to its bye
constexpr std::int64_t kByeAgainNs = 200 * kMillisecondNs;  // before it says bye again: the first may be lost
constexpr int kYields = 1000;

}  // namespace

void OfiLink::look_at_clocks(std::int64_t now_ns) {
  const std::vector<int> peers = unfinished_;  // fail() may return in tests
  for (const int peer : peers) look_at_clock(peer, now_ns);
}

void OfiLink::look_at_clock(int peer, std::int64_t now_ns) {
  Peer& to = at(peer);
  if (!may_send_to(to)) return;
  if (to.card == nullptr) to.moved_ns = now_ns;  // it has not come yet: the launcher knows why
  const std::int64_t stands_ns = now_ns - to.moved_ns;
  if (to.broken && !leaving_ && stands_ns > kBrokenNs) {
    to.broken = to.said_bye;
    if (!to.broken) fail(peer, "a packet to it was lost: " + to.trouble);
    to.broken = false;
    return;
  }
  if (stands_ns < (leaving_ ? kLeavingPatienceNs : to.patience_ns)) {
    to.probe.reset();
    return;
  }
  if (ofi::is_internet_address(to.card->name)) return try_address(peer, now_ns);
  if (stands_ns < connect_ns_) return;
  std::fprintf(
      stderr, "tasuki: %s: for %lld s nothing could be sent to %s; it computes, or cannot be reached\n",
      ofi::text_of(rank_, card_).c_str(), static_cast<long long>(connect_ns_ / 1000 / kMillisecondNs),
      ofi::text_of(peer, *to.card).c_str());
  to.patience_ns = kPatienceNsMax;
  to.gone = leaving_;
}

/// Nothing has moved to the peer for some time: is it busy, or out of reach?
void OfiLink::try_address(int peer, std::int64_t now_ns) {
  Peer& to = at(peer);
  if (to.probe == nullptr) {
    to.probe = std::make_unique<Probe>();
    to.probe->begin(card_.name, to.card->name);
  }
  const Probe::State state = to.probe->look();
  if (state == Probe::State::kConnected) {
    to.probe.reset();
    to.moved_ns = now_ns;
    to.patience_ns = std::min(2 * to.patience_ns, kPatienceNsMax);  // the peer's system has to keep them all
    return;
  }
  if (state == Probe::State::kFailed) {
    to.trouble = to.probe->reason();
    const bool refused = to.probe->refused();
    to.probe.reset();
    if (leaving_) to.gone = true;
    if ((refused || to.other != nullptr) && !leaving_) {
      to.moved_ns = now_ns;  // fail() may return in tests
      return fail(peer, to.trouble);
    }
  }
  const std::int64_t stands_ns = now_ns - to.moved_ns;
  const std::int64_t limit_ns = std::max(connect_ns_, to.patience_ns + connect_ns_ / 2);
  if (stands_ns < limit_ns) return;
  to.moved_ns = now_ns;
  if (leaving_) {
    to.gone = true;
    return;
  }
  fail(peer, (to.trouble.empty() ? "there is no answer to a connection" : to.trouble) + " (for " +
                 std::to_string(wiring_.connect_seconds) + " s)");
}

void OfiLink::fail(int peer, const std::string& what) {
  const Peer& to = at(peer);
  const std::string sentence =
      ofi::text_of(rank_, card_) + " cannot reach " + ofi::text_of(name(peer).rank, *to.card) +
      (to.other != nullptr ? " of another job by " : " by ") + card_.provider + ": " + what +
      "; look whether that process lives, whether a firewall stands between the two, and whether "
      "TASUKI_NET_INTERFACE has to name another interface";
  end_for(peer, sentence);
}

/// The peer cannot be talked to any more: ends this job, or, of another job, takes it for dead.
void OfiLink::end_for(int peer, const std::string& sentence) {
  if (at(peer).other != nullptr) return end_other(peer, true, sentence);
  wiring_.fail(sentence);
}

// ----- leaving ---------------------------------------------------------------------------------------------

/// Polls until `done()` holds, or for `limit_ns`.
template <class Done>
void OfiLink::poll_until(const Done& done, std::int64_t limit_ns) {
  const std::int64_t begin_ns = clock_.now_ns();
  for (int polls = 0;; ++polls) {
    const std::int64_t now_ns = clock_.now_ns();
    poll_network(nullptr);
    if (done() || now_ns - begin_ns > limit_ns) return;
    if (polls < kYields) {
      sched_yield();
    } else {
      const timespec pause{0, 50'000};
      nanosleep(&pause, nullptr);
    }
  }
}

/// Waits for the answers to this rank's bye, which is said again meanwhile. A bye that makes a new
/// connection, since the one before was lost with the old one, has to leave as all else: without a limit.
void OfiLink::wait_for_answers(const std::vector<int>& told) {
  const std::int64_t end_ns = clock_.now_ns() + kByeNs;
  std::int64_t again_ns = end_ns - kByeNs + kByeAgainNs;
  const auto is_answered = [&](int peer) { return at(peer).heard_bye || at(peer).said_bye || at(peer).gone; };
  const auto is_under_way = [&](int peer) { return !is_answered(peer) && at(peer).is_unfinished(); };
  const auto is_over = [&] {
    if (std::all_of(told.begin(), told.end(), is_answered)) return true;
    const std::int64_t now_ns = clock_.now_ns();
    if (now_ns >= end_ns) return std::none_of(told.begin(), told.end(), is_under_way);
    if (now_ns < again_ns) return false;
    again_ns += kByeAgainNs;
    for (const int peer : told) {
      if (!is_answered(peer) && !at(peer).is_unfinished()) say(peer, ofi::FrameKind::kBye);
    }
    return false;
  };
  poll_until(is_over, INT64_MAX);
}

/// What this rank has sent has left it when this returns: waits without end for peers that can be reached.
void OfiLink::leave() {
  behind_->leave();
  const ofi::Inside inside(gate_);
  send_bundles();
  leaving_ = true;
  std::vector<int> told;
  peers_.for_each([&](std::size_t peer, Peer& to) {
    if (!to.talked && !to.is_unfinished()) return;
    to.talked = to.heard_bye = false;
    if (!to.said_bye || to.is_unfinished()) told.push_back(static_cast<int>(peer));
  });
  for (const int peer : told) say(peer, ofi::FrameKind::kBye);
  const auto all = [&](auto&& good) { return std::all_of(told.begin(), told.end(), good); };
  poll_until([&] { return all([&](int peer) { return !at(peer).is_unfinished() || at(peer).gone; }); },
             INT64_MAX);
  wait_for_answers(told);
  // What was said in answer leaves too.
  poll_until(
      [&] {
        return std::all_of(unfinished_.begin(), unfinished_.end(),
                           [&](int peer) { return !at(peer).is_unfinished() || !may_send_to(at(peer)); });
      },
      kByeNs);
  for (const int peer : told) forget(peer);
  leave_others();
  leaving_ = false;
}

/// Drops what waits for a peer that is gone.
void OfiLink::forget(int peer) {
  Peer& to = at(peer);
  if (!std::exchange(to.gone, false)) return;
  to.greeted = to.connected;
  for (ofi::Buffer* const buffer : to.backlog) {
    to.unfinished_bytes -= buffer->capacity;
    fabric_->give_back(buffer);
  }
  to.backlog.clear();
  for (ofi::Copy* const copy : to.copies) give_back(copy);
  to.copies.clear();
  if (to.bundle == nullptr) return;
  std::erase(bundled_, peer);
  to.unfinished_bytes -= to.bundle->capacity;
  fabric_->give_back(std::exchange(to.bundle, nullptr));
}

}  // namespace tasuki
