// OfiLink: trying the network when the job starts. The nodes stand in a ring, by their lowest ranks, which
// try the next node and the one before: two connections of each node and two to it, however many there are.
// They go from the card's interface to the card's address, as packets do, and end at once.
#include <algorithm>
#include <utility>

#include "link/ofi/ofi_link.hpp"

namespace tasuki {
namespace {

using ofi::Probe;

// A host that refuses is asked again for so long: its rank may have died, which the launcher tells then.
constexpr std::int64_t kRefusedNs = 500 * kMillisecondNs;
constexpr std::int64_t kAgainNs = 100 * kMillisecondNs;

/// The lowest rank of each node, in the order of their numbers.
std::vector<int> first_ranks(const std::vector<int>& nodes) {
  std::vector<int> firsts, known;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    if (std::find(known.begin(), known.end(), nodes[rank]) != known.end()) continue;
    known.push_back(nodes[rank]);
    firsts.push_back(static_cast<int>(rank));
  }
  return firsts;
}

}  // namespace

bool OfiLink::has_tried_network() {
  if (!std::exchange(trials_begun_, true)) begin_trials();
  if (trials_.empty()) return true;
  const std::int64_t now_ns = clock_.now_ns();
  bool all = true;
  for (const auto& trial : trials_) all = is_reached(*trial, now_ns) && all;
  if (all) trials_.clear();
  // Nobody rings when a connection comes about.
  restless_.store(!all || !has_secret_ || !unfinished_.empty(), std::memory_order_relaxed);
  return all;
}

void OfiLink::begin_trials() {
  const std::vector<int> firsts = first_ranks(nodes_);
  const auto own = std::find(firsts.begin(), firsts.end(), rank_);
  if (own == firsts.end() || !wiring_.try_network) return;
  const auto count = static_cast<std::ptrdiff_t>(firsts.size());
  const std::ptrdiff_t place = own - firsts.begin();
  std::vector<int> peers = {firsts[static_cast<std::size_t>((place + 1) % count)],
                            firsts[static_cast<std::size_t>((place + count - 1) % count)]};
  if (peers[0] == peers[1]) peers.pop_back();
  for (const int peer : peers) {
    if (peer == rank_) continue;
    trials_.push_back(std::make_unique<Trial>());
    trials_.back()->peer = peer;
  }
}

/// Goes on with a trial. Returns whether it is over.
bool OfiLink::is_reached(Trial& trial, std::int64_t now_ns) {
  Peer& to = at(trial.peer);
  if (trial.over) return true;
  if (to.number == FI_ADDR_NOTAVAIL && !find(trial.peer)) return false;
  if (!ofi::is_internet_address(to.card->name)) return trial.over = true;
  if (trial.begin_ns == 0) trial.begin_ns = now_ns;
  if (trial.again_ns <= now_ns && trial.probe.look() == Probe::State::kNone)
    trial.probe.begin(card_.name, to.card->name);
  const Probe::State state = trial.probe.look();
  if (state == Probe::State::kConnected) {
    trial.probe.end();
    return trial.over = true;
  }
  const std::int64_t passed_ns = now_ns - trial.begin_ns;
  if (state == Probe::State::kFailed) {
    trial.trouble = trial.probe.reason();
    trial.probe.end();
    trial.again_ns = now_ns + kAgainNs;
    if (passed_ns > kRefusedNs) fail_trial(trial);
  } else if (passed_ns > connect_ns_ / 2) {
    fail_trial(trial);
  }
  return trial.over;
}

void OfiLink::fail_trial(Trial& trial) {
  trial.over = true;  // where the job goes on, in tests
  const ofi::Card& other = *at(trial.peer).card;
  const std::int64_t milliseconds = connect_ns_ / 2 / kMillisecondNs;
  const std::string time = milliseconds % 1000 == 0 ? std::to_string(milliseconds / 1000) + " s"
                                                    : std::to_string(milliseconds) + " ms";
  const std::string what = trial.trouble.empty() ? "no answer within " + time : trial.trouble;
  wiring_.fail("MPI_Init: a connection from " + ofi::text_of(rank_, card_) + " to " +
               ofi::text_of(trial.peer, other) + " does not come about: " + what +
               "; look whether a firewall on " + other.host +
               " or on the way refuses or drops new connections to that port, and whether " +
               "TASUKI_NET_INTERFACE has to name another interface (docs/design/network.md)");
}

}  // namespace tasuki
