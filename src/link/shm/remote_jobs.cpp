// ShmLink: the endpoints beyond the own job.
//
// An endpoint comes to be in one of two ways: this process joins it by its address, or it has opened a slot
// in this process's mailbox. It ends when its process has finalised or died; its number stays, but nothing
// more goes there.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/system/clock.hpp"
#include "base/system/process_state.hpp"
#include "link/shm/shm_link.hpp"

namespace tasuki {
namespace {

// Jobs of different sizes have cells of different sizes; any of them can send to a mailbox of so many bytes.
constexpr std::uint64_t kMailboxBulkBytesMin = 256 * 1024;
constexpr std::int64_t kExaminationPauseNs = 100'000'000;

}  // namespace

ProcessName ShmLink::name(int endpoint) const {
  if (endpoint < size_) return {job_, endpoint};
  return remote_[static_cast<std::size_t>(endpoint - size_)].address.name;
}

bool ShmLink::address(PeerAddress* own, std::string* error) {
  if (mailbox_ == nullptr) {
    struct stat info {};
    const SharedRegion& region = doorbells_.region();
    if (region.fd >= 0 && fstat(region.fd, &info) != 0) {
      *error = "the descriptor of the job's memory was closed";
      return false;
    }
    const auto bell_offset =
        static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(&own_bell()) - region.base);
    const shm::DoorbellPlace doorbell{static_cast<std::int32_t>(getpid()), region.fd, info.st_ino,
                                      region.fd_offset + bell_offset, &own_bell()};
    mailbox_ =
        shm::Mailbox::make(name(rank_), std::max(bulk_capacity_, kMailboxBulkBytesMin), doorbell, error);
    if (mailbox_ == nullptr) return false;
  }
  *own = mailbox_->address();
  return true;
}

int ShmLink::join(const PeerAddress& address, std::string* error) {
  examination_due_ = true;
  if (address.name.job == job_) {
    if (address.name.rank >= 0 && address.name.rank < size_) return address.name.rank;
    *error = "rank " + std::to_string(address.name.rank) + " is none of this job's";
    return -1;
  }
  PeerAddress own;
  if (!this->address(&own, error)) return -1;
  int endpoint = find_remote(address.name);
  if (endpoint >= 0 && remote(endpoint).to != nullptr) return endpoint;
  if (endpoint < 0) endpoint = add_remote(address);
  remote(endpoint).address = address;
  return open_remote(endpoint, error) ? endpoint : -1;
}

bool ShmLink::has_ended(int endpoint) const {
  return endpoint >= size_ && remote_[static_cast<std::size_t>(endpoint - size_)].ended;
}

void ShmLink::say_finishing() {
  if (mailbox_ == nullptr) return;
  mailbox_->header().finishing.store(1, std::memory_order_seq_cst);
  for (int endpoint = size_; endpoint < endpoints(); ++endpoint) doorbells_.wake(endpoint);
}

Presence ShmLink::presence(int endpoint) const {
  if (endpoint < size_) return Presence::kHere;
  const RemoteProcess& one = remote_[static_cast<std::size_t>(endpoint - size_)];
  if (one.ended) return one.died ? Presence::kDied : Presence::kLeft;
  if (one.to == nullptr) return Presence::kHere;
  if (one.to->finalized()) return Presence::kLeft;
  return one.to->finishing() ? Presence::kFinishing : Presence::kHere;
}

bool ShmLink::is_silent(int endpoint) {
  if (presence(endpoint) == Presence::kHere) return false;  // before the look at the ring: it sends no more
  if (remote(endpoint).inbound_slot < 0) return mailbox_->header().opened.load() == opened_seen_;
  Packet packet;
  Peer& peer = peers_[static_cast<std::size_t>(endpoint)];
  return !peer.receiver.peek(cells_from(peer), &packet, &gathered_);
}

int ShmLink::endpoints_alive() const {
  return size_ + static_cast<int>(std::count_if(remote_.begin(), remote_.end(),
                                                [](const RemoteProcess& one) { return !one.ended; }));
}

int ShmLink::find_remote(const ProcessName& name) const {
  const auto found = remote_by_name_.find(name);
  return found == remote_by_name_.end() ? -1 : found->second;
}

int ShmLink::add_endpoint(const PeerAddress& address) {
  const int known = find_remote(address.name);
  return known >= 0 ? known : add_remote(address);
}

int ShmLink::add_remote(const PeerAddress& address) {
  const int endpoint = endpoints();
  RemoteProcess added;
  added.address = address;
  added.ended = true;  // until it can be sent to, or sends
  remote_.push_back(std::move(added));
  remote_by_name_[address.name] = endpoint;
  peers_.grow(static_cast<std::size_t>(endpoint) + 1);
  peers_[static_cast<std::size_t>(endpoint)] = nowhere();
  doorbells_.add();
  return endpoint;
}

bool ShmLink::open_remote(int endpoint, std::string* error) {
  RemoteProcess& one = remote(endpoint);
  one.to = shm::Correspondent::open(one.address, mailbox_->address(), bulk_bytes_max(), error);
  if (one.to == nullptr) return false;
  Peer& peer = peers_[static_cast<std::size_t>(endpoint)];
  peer.sender = one.to->sender();
  peer.cells = one.to->cells();
  doorbells_.set(endpoint, one.to->doorbell());
  peer.wakes = doorbells_.place(endpoint);
  one.ended = false;
  return true;
}

// ----- polling ---------------------------------------------------------------------------------------------

int ShmLink::poll_remote(PacketSink& sink) {
  // seq_cst: after arm() this load must not be older than the sleeping flag's store (link.hpp, 5).
  const std::uint32_t opened = mailbox_->header().opened.load(std::memory_order_seq_cst);
  if (opened != opened_seen_) {
    if (find_senders(sink)) opened_seen_ = opened;
  }
  int delivered = 0;
  for (std::size_t i = 0; i < inbound_.size(); ++i) delivered += poll_peer(inbound_[i], sink);
  if (examination_due_) {
    examination_due_ = false;
    look_for_ended(sink);
  }
  return delivered;
}

/// A sender has opened a slot. Returns false when one is to be looked at again: its sender has left and come
/// back before its last packets were taken.
bool ShmLink::find_senders(PacketSink& sink) {
  bool all_found = true;
  for (int slot = 0; slot < shm::kMailboxSlots; ++slot) {
    const auto bit = static_cast<std::size_t>(slot);
    const shm::MailboxSlot& shared = mailbox_->header().slots[slot];
    const shm::SlotState state = shared.state.load(std::memory_order_acquire);
    if (slots_known_[bit] || (state != shm::SlotState::kOpen && state != shm::SlotState::kLeft)) continue;
    const PeerAddress sender = shared.sender;
    int endpoint = find_remote(sender.name);
    const int earlier_slot = endpoint >= 0 ? remote(endpoint).inbound_slot : -1;
    if (sender.name.job == job_ ||
        (earlier_slot >= 0 && mailbox_->header().slots[earlier_slot].state.load(std::memory_order_acquire) !=
                                  shm::SlotState::kLeft)) {
      sink.packet(damaged_packet(endpoints(), "who sends, in a slot of the mailbox"));
      continue;
    }
    if (earlier_slot >= 0) {
      if (!end(endpoint, true)) {
        all_found = false;
        continue;
      }
      sink.peer_ended(endpoint, true);
    }
    slots_known_[bit] = true;
    if (endpoint < 0) {
      endpoint = add_remote(sender);
      sink.peer_joined(endpoint);
    }
    RemoteProcess& one = remote(endpoint);
    one.ended = false;
    if (one.to == nullptr) {
      one.address = sender;
      std::string error;
      open_remote(endpoint, &error);  // if it fails, the sender is gone again, but its packets count
      one.ended = false;
    }
    one.inbound_slot = slot;
    Peer& peer = peers_[static_cast<std::size_t>(endpoint)];
    peer.receiver = shm::RingReceiver(mailbox_->ring(slot));
    peer.inbound = mailbox_->cells(slot);
    inbound_.push_back(endpoint);
  }
  return all_found;
}

void ShmLink::examine_soon() {
  const std::int64_t now = clock_ns();
  if (now - examined_ns_ < kExaminationPauseNs) return;
  examined_ns_ = now;
  examination_due_ = true;
}

void ShmLink::look_for_ended(PacketSink& sink) {
  for (int endpoint = size_; endpoint < endpoints(); ++endpoint) {
    const RemoteProcess& one = remote(endpoint);
    if (one.ended) continue;
    const bool finalized = one.to != nullptr && one.to->finalized();
    const bool has_died =
        one.to != nullptr ? one.to->has_ended() : state_of_process(shm::segment_of(one.address).pid).ended();
    if (!finalized && !has_died) {
      if (is_silent(endpoint)) sink.peer_finishing(endpoint);
      continue;
    }
    if (end(endpoint, finalized)) sink.peer_ended(endpoint, finalized);
  }
}

/// Lets go of a process that has ended, unless packets of its are left to be taken.
bool ShmLink::end(int endpoint, bool finalized) {
  RemoteProcess& one = remote(endpoint);
  Peer& peer = peers_[static_cast<std::size_t>(endpoint)];
  if (one.inbound_slot >= 0) {
    Packet packet;
    const auto& slot = mailbox_->header().slots[one.inbound_slot];
    if (finalized && slot.state.load(std::memory_order_acquire) != shm::SlotState::kLeft) return false;
    if (peer.receiver.peek(cells_from(peer), &packet, &gathered_)) return false;
    inbound_.erase(std::find(inbound_.begin(), inbound_.end(), endpoint));
    slots_known_[static_cast<std::size_t>(one.inbound_slot)] = false;
    mailbox_->free_slot(one.inbound_slot);
  }
  one.died = !finalized && !(one.to != nullptr && one.to->finishing());
  doorbells_.set(endpoint, nullptr);
  one.to.reset();
  one.inbound_slot = -1;
  one.ended = true;
  peer = nowhere();
  return true;
}

void ShmLink::leave() {
  for (int endpoint = size_; endpoint < endpoints(); ++endpoint) {
    RemoteProcess& one = remote(endpoint);
    doorbells_.set(endpoint, nullptr);
    one.to.reset();
    one.inbound_slot = -1;
    one.ended = true;
    peers_[static_cast<std::size_t>(endpoint)] = nowhere();
  }
  inbound_.clear();
  slots_known_.reset();
  mailbox_.reset();  // senders see that it is closed
}

// ----- ports -----------------------------------------------------------------------------------------------

bool ShmLink::open_port(std::uint64_t port) {
  PeerAddress own;
  std::string error;
  if (!address(&own, &error)) return false;
  for (std::atomic<std::uint64_t>& place : mailbox_->header().ports) {
    if (place.load(std::memory_order_relaxed) != 0) continue;
    place.store(port, std::memory_order_release);
    return true;
  }
  return false;
}

void ShmLink::close_port(std::uint64_t port) {
  if (mailbox_ == nullptr) return;
  for (std::atomic<std::uint64_t>& place : mailbox_->header().ports) {
    if (place.load(std::memory_order_relaxed) == port) place.store(0, std::memory_order_release);
  }
}

PortState ShmLink::port_state(const PeerAddress& owner, std::uint64_t port) {
  std::string error;
  std::uint64_t bulk_capacity = 0;
  const std::unique_ptr<SharedSegment> segment = shm::open_mailbox(owner, &bulk_capacity, &error);
  if (segment == nullptr) return PortState::kEnded;
  const auto& header = *reinterpret_cast<const shm::MailboxHeader*>(segment->base());
  const bool open = std::any_of(std::begin(header.ports), std::end(header.ports), [port](const auto& place) {
    return place.load(std::memory_order_acquire) == port;
  });
  return open ? PortState::kOpen : PortState::kClosed;
}

}  // namespace tasuki
