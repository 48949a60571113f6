// OfiLink: processes of other jobs on other hosts: how they meet, what they tell each other besides packets,
// and how their ends are noticed.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/system/random_number.hpp"
#include "link/ofi/ofi_link.hpp"

namespace tasuki {
namespace {

using ofi::Buffer;
using ofi::Frame;
using ofi::FrameKind;
using ofi::OtherProcess;
using ofi::Probe;
using ofi::Secret;

constexpr std::int64_t kExaminationNs = 100'000'000;
// What a process has sent before its end may still come when its lifeline is broken.
constexpr std::int64_t kLastWordsNs = 300'000'000;

Secret random_secret() {
  return {{random_number(), random_number()}};
}

template <class Words>
Words words_of(const Buffer& buffer) {
  Words words;
  std::memcpy(&words, buffer.memory + ofi::kHeadAt, sizeof words);
  return words;
}

}  // namespace

// ----- meeting ---------------------------------------------------------------------------------------------

bool OfiLink::address(PeerAddress* own, std::string* error) {
  if (!behind_->address(own, error)) return false;
  if (!std::exchange(has_key_, true)) key_ = random_secret();
  own->place = wiring_.place;
  if (ofi::append(key_, card_, own)) return true;
  *error = "the address of " + ofi::text_of(rank_, card_) + " is too long to be told";
  return false;
}

int OfiLink::join(const PeerAddress& address, std::string* error) {
  const ofi::Inside inside(gate_);
  const bool is_near = address.name.job == name(rank_).job || address.place == wiring_.place;
  return is_near ? behind_->join(address, error) : add_other(address, error);
}

/// The endpoint of the process at that address, which is on another host. Returns -1 and one line in `error`
/// where it cannot be talked to.
int OfiLink::add_other(const PeerAddress& address, std::string* error) {
  auto card = std::make_unique<ofi::Card>();
  Secret key;
  if (!ofi::read_address(address, &key, card.get())) {
    *error = "rank " + std::to_string(address.name.rank) +
             " of another job is on another host, and has no network that it could be reached by";
    return -1;
  }
  *error = ofi::why_not(rank_, card_, address.name.rank, *card);
  const int endpoint = error->empty() ? behind_->add_endpoint(address) : -1;
  if (endpoint < 0) return -1;
  const std::size_t ends = std::max(peers_.size(), static_cast<std::size_t>(endpoint) + 1);
  peers_.grow(ends);
  far_.resize(ends);
  Peer& to = at(endpoint);
  if (to.other != nullptr && !to.other->ended && to.other->key == key) return endpoint;
  if (to.other != nullptr && !to.other->told) {
    *error = ofi::text_of(address.name.rank, *card) +
             " has left and come back; what it sent before is not here yet";
    return -1;
  }
  const fi_addr_t number = fabric_->insert(card->name);
  if (number == FI_ADDR_NOTAVAIL) {
    *error = "libfabric does not take the address of " + ofi::text_of(address.name.rank, *card);
    return -1;
  }
  if (to.other == nullptr) others_.push_back(endpoint);
  Peer fresh;
  fresh.unfinished_bytes = to.unfinished_bytes;  // of what was under way to it before
  fresh.listed = to.listed;
  fresh.number = number;
  fresh.secret = random_secret();
  fresh.card = std::move(card);
  fresh.other = std::make_unique<OtherProcess>();
  fresh.other->address = address;
  fresh.other->key = key;
  fresh.other->own_secret = fresh.secret;
  by_secret_[fresh.secret] = endpoint;
  to = std::move(fresh);
  far_[static_cast<std::size_t>(endpoint)] = 1;
  return endpoint;
}

/// A process of another job says where it is. Without a sink this rank leaves, and will know of it no longer.
void OfiLink::take_newcomer(const Frame& frame, const Buffer& buffer, PacketSink* sink) {
  const auto words = words_of<ofi::MeetWords>(buffer);
  const auto is_it = [&](int endpoint) { return other(endpoint).address.name == words.from.name; };
  const auto known = std::find_if(others_.begin(), others_.end(), is_it);
  Secret key;
  ofi::Card card;
  if (known != others_.end() && ofi::read_address(words.from, &key, &card) && key != other(*known).key) {
    end_other(*known, false, {});  // it has left and come back
    if (!std::exchange(other(*known).told, true) && sink != nullptr) sink->peer_ended(*known, true);
  }
  std::string error = "its address is one of this job's or this host's";
  const bool is_far_one = words.from.name.job != name(rank_).job && words.from.place != wiring_.place;
  const int endpoint = is_far_one ? add_other(words.from, &error) : -1;
  if (endpoint < 0) return damaged(frame, error.c_str());
  Peer& to = at(endpoint);
  if (sink != nullptr && !to.connected) sink->peer_joined(endpoint);
  to.secret = words.secret;
  by_secret_[words.secret] = endpoint;
  to.talked = to.connected = true;
  say(endpoint, FrameKind::kWelcome);
  if (finishing_) say(endpoint, FrameKind::kFinishing);
}

// ----- words -----------------------------------------------------------------------------------------------

/// A word that ranks of one job do not say to each other, but for those about ports.
void OfiLink::hear(int source, const Frame& frame, const Buffer& buffer) {
  Peer& from = at(source);
  if (frame.kind == FrameKind::kAskPort) {
    auto words = words_of<ofi::PortWords>(buffer);
    words.open = ports_.contains(words.number) ? 1 : 0;
    say(source, FrameKind::kPort, &words);
    return;
  }
  if (frame.kind == FrameKind::kPort) {
    const auto words = words_of<ofi::PortWords>(buffer);
    const auto asked = asked_.find({source, words.number});
    if (asked != asked_.end())
      asked->second = {words.open != 0 ? PortState::kOpen : PortState::kClosed, false};
  } else if (from.other == nullptr) {
    damaged(frame, "ranks of one job have no such word");
  } else {
    from.other->finishing = true;
    from.other->finishing_at = frame.sequence;
  }
}

void OfiLink::say_finishing() {
  behind_->say_finishing();
  const ofi::Inside inside(gate_);
  finishing_ = true;
  for (const int endpoint : others_) {
    if (other(endpoint).ended) continue;
    greet(endpoint);
    say(endpoint, FrameKind::kFinishing);
  }
}

bool OfiLink::open_port(std::uint64_t port) {
  if (!behind_->open_port(port)) return false;
  ports_.insert(port);
  return true;
}

void OfiLink::close_port(std::uint64_t port) {
  behind_->close_port(port);
  ports_.erase(port);
}

/// Asks again whenever the last answer has come.
PortState OfiLink::port_state(const PeerAddress& owner, std::uint64_t port) {
  const ofi::Inside inside(gate_);
  const bool is_own_job = owner.name.job == name(rank_).job;
  const bool is_rank =
      is_own_job && owner.name.rank >= 0 && owner.name.rank < static_cast<int>(nodes_.size());
  int endpoint = is_rank ? owner.name.rank : -1;
  for (const int one : others_) {
    if (other(one).address.name == owner.name) endpoint = one;
  }
  if (is_rank ? !is_far(endpoint) : owner.place == wiring_.place) return behind_->port_state(owner, port);
  if (endpoint < 0) return PortState::kUnknown;
  if (!may_send_to(at(endpoint))) return PortState::kClosed;
  Asked& asked = asked_[{endpoint, port}];
  if (!std::exchange(asked.under_way, true)) {
    const ofi::PortWords words{port, 0};
    greet(endpoint);
    say(endpoint, FrameKind::kAskPort, &words);
  }
  return asked.state;
}

// ----- ends ------------------------------------------------------------------------------------------------

Presence OfiLink::presence(int endpoint) const {
  if (!is_other(endpoint)) return behind_->presence(endpoint);
  const OtherProcess& one = *find_other(endpoint);
  if (one.ended) return one.died ? Presence::kDied : Presence::kLeft;
  return one.finishing ? Presence::kFinishing : Presence::kHere;
}

bool OfiLink::is_silent(int endpoint) {
  if (!is_other(endpoint)) return behind_->is_silent(endpoint);
  const Peer& from = at(endpoint);
  return from.other->ended || (from.other->finishing && from.received == from.other->finishing_at);
}

bool OfiLink::has_ended(int endpoint) const {
  return is_other(endpoint) ? find_other(endpoint)->ended : behind_->has_ended(endpoint);
}

std::string OfiLink::trouble(int endpoint) const {
  return is_other(endpoint) ? find_other(endpoint)->trouble : behind_->trouble(endpoint);
}

/// Tells the sink which have ended, and now and then, before this rank sleeps, looks whether any has.
void OfiLink::follow_others(PacketSink& sink, std::int64_t now_ns) {
  if (std::exchange(others_moved_, false)) {
    for (std::size_t i = 0; i < others_.size(); ++i) {
      const int endpoint = others_[i];
      const Peer& from = at(endpoint);
      if (from.said_bye && !from.other->ended) {
        if (from.received == from.bye_at) end_other(endpoint, false, {});
        others_moved_ = true;
      }
      if (from.other->ended && !std::exchange(other(endpoint).told, true))
        sink.peer_ended(endpoint, !from.other->died);
    }
  }
  if (armed_ == 0 || now_ns < next_examination_ns_) return;
  next_examination_ns_ = now_ns + kExaminationNs;
  for (std::size_t i = 0; i < others_.size(); ++i) examine(others_[i], now_ns, sink);
}

void OfiLink::examine(int endpoint, std::int64_t now_ns, PacketSink& sink) {
  const Peer& from = at(endpoint);
  OtherProcess& one = *from.other;
  if (one.ended) return;
  if (is_silent(endpoint)) sink.peer_finishing(endpoint);
  if ((!from.greeted && !from.talked) || !ofi::is_internet_address(from.card->name)) return;
  if (one.lifeline == nullptr) {
    one.lifeline = std::make_unique<Probe>();
    one.lifeline->begin_kept(card_.name, from.card->name, static_cast<int>(wiring_.connect_seconds));
  }
  if (one.lifeline->look() != Probe::State::kFailed) return;
  if (one.broken_ns == 0) one.broken_ns = now_ns;
  if (now_ns - one.broken_ns < kLastWordsNs || from.said_bye) return;
  end_other(endpoint, true,
            ofi::text_of(from.other->address.name.rank, *from.card) +
                " of another job has ended: " + one.lifeline->reason());
}

/// Nothing goes there any more.
void OfiLink::end_other(int endpoint, bool died, const std::string& why) {
  Peer& to = at(endpoint);
  OtherProcess& one = *to.other;
  if (std::exchange(one.ended, true)) return;
  one.died = died && !one.finishing;
  one.trouble = why;
  one.lifeline.reset();
  to.probe.reset();
  to.connected = to.talked = to.broken = false;
  to.gone = true;
  forget(endpoint);
  for (const auto& [number, buffer] : to.early) fabric_->give_back(buffer);
  to.early.clear();
  constexpr std::size_t kKeptMax = 10'000;
  for (auto& [secret, whose] : by_secret_) {
    if (whose == endpoint) whose = kFormer;
  }
  if (by_secret_.size() > others_.size() + kKeptMax)
    std::erase_if(by_secret_, [](const auto& entry) { return entry.second == kFormer; });
  others_moved_ = true;
}

/// This rank is none that others know, until it says anew where it is.
void OfiLink::leave_others() {
  for (const int endpoint : others_) {
    end_other(endpoint, false, {});
    other(endpoint).told = true;
  }
  asked_.clear();
  ports_.clear();
  has_key_ = finishing_ = false;
}

}  // namespace tasuki
