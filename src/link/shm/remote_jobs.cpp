// ShmTransport: the endpoints beyond the own job.
//
// An endpoint comes to be in one of two ways: this process joins it by its address, or it has opened a slot
// in this process's mailbox. It ends when its process has finalised or died; its number stays, but nothing
// more goes there.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/process_state.hpp"
#include "link/shm/shm_link.hpp"

namespace tasuki {
namespace {

// Jobs of different sizes have rings of different sizes; any of them can send to a mailbox with this one.
constexpr std::uint64_t kMailboxBulkBytesMin = 256 * 1024;
constexpr std::int64_t kExaminationPauseNs = 100'000'000;

}  // namespace

ProcessName ShmTransport::name(int endpoint) const {
  if (endpoint < size_) return {region_.job, endpoint};
  return foreign_[static_cast<std::size_t>(endpoint - size_)].address.name;
}

bool ShmTransport::address(PeerAddress* own, std::string* error) {
  if (mailbox_ == nullptr) {
    struct stat info {};
    if (region_.fd >= 0 && fstat(region_.fd, &info) != 0) {
      *error = "the descriptor of the job's memory was closed by somebody";
      return false;
    }
    const auto bell_offset =
        static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(&own_bell()) - region_.base);
    const shm::DoorbellPlace doorbell{static_cast<std::int32_t>(getpid()), region_.fd, info.st_ino,
                                      region_.fd_offset + bell_offset, &own_bell()};
    mailbox_ =
        shm::Mailbox::make(name(rank_), std::max(bulk_capacity_, kMailboxBulkBytesMin), doorbell, error);
    if (mailbox_ == nullptr) return false;
  }
  *own = mailbox_->address();
  return true;
}

int ShmTransport::join(const PeerAddress& address, std::string* error) {
  examination_due_ = true;
  if (address.name.job == region_.job) {
    if (address.name.rank >= 0 && address.name.rank < size_) return address.name.rank;
    *error = "rank " + std::to_string(address.name.rank) + " is none of this job's";
    return -1;
  }
  PeerAddress own;
  if (!this->address(&own, error)) return -1;
  int endpoint = find_foreign(address.name);
  if (endpoint >= 0 && foreign(endpoint).to != nullptr) return endpoint;
  if (endpoint < 0) endpoint = add_foreign(address);
  foreign(endpoint).address = address;
  return open_foreign(endpoint, error) ? endpoint : -1;
}

bool ShmTransport::has_ended(int endpoint) const {
  return endpoint >= size_ && foreign_[static_cast<std::size_t>(endpoint - size_)].ended;
}

void ShmTransport::say_finishing() {
  if (mailbox_ == nullptr) return;
  mailbox_->header().finishing.store(1, std::memory_order_seq_cst);
  for (int endpoint = size_; endpoint < endpoints(); ++endpoint) wake(endpoint);
}

Presence ShmTransport::presence(int endpoint) const {
  if (endpoint < size_) return Presence::kHere;
  const Foreign& one = foreign_[static_cast<std::size_t>(endpoint - size_)];
  if (one.ended) return one.died ? Presence::kDied : Presence::kLeft;
  if (one.to == nullptr) return Presence::kHere;
  if (one.to->finalized()) return Presence::kLeft;
  return one.to->finishing() ? Presence::kFinishing : Presence::kHere;
}

bool ShmTransport::is_silent(int endpoint) {
  if (presence(endpoint) == Presence::kHere) return false;  // before the look at the ring: it sends no more
  if (foreign(endpoint).inbound_slot < 0) return mailbox_->header().opened.load() == opened_seen_;
  Packet packet;
  return !peers_[static_cast<std::size_t>(endpoint)].receiver.peek(&packet, &gathered_);
}

int ShmTransport::endpoints_alive() const {
  return size_ + static_cast<int>(std::count_if(foreign_.begin(), foreign_.end(),
                                                [](const Foreign& one) { return !one.ended; }));
}

int ShmTransport::find_foreign(const ProcessName& name) const {
  const auto found = foreign_by_name_.find(name);
  return found == foreign_by_name_.end() ? -1 : found->second;
}

int ShmTransport::add_foreign(const PeerAddress& address) {
  const int endpoint = endpoints();
  Foreign added;
  added.address = address;
  added.ended = true;  // until it can be sent to, or sends
  foreign_.push_back(std::move(added));
  foreign_by_name_[address.name] = endpoint;
  peers_.push_back(nowhere());
  return endpoint;
}

bool ShmTransport::open_foreign(int endpoint, std::string* error) {
  Foreign& one = foreign(endpoint);
  one.to = shm::Correspondent::open(one.address, mailbox_->address(), bulk_bytes_max(), error);
  if (one.to == nullptr) return false;
  Peer& peer = peers_[static_cast<std::size_t>(endpoint)];
  peer.sender = one.to->sender();
  peer.bell = one.to->doorbell();
  peer.has_membarrier = fence_of(*peer.bell);
  one.ended = false;
  return true;
}

// ----- polling ---------------------------------------------------------------------------------------------

int ShmTransport::poll_foreign(PacketSink& sink) {
  // seq_cst: after arm() this load must not be older than the sleeping flag's store (transport.hpp, 5).
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

/// Somebody has opened a slot. Returns false when one is to be looked at again: its sender has left and come
/// back before its last packets were taken.
bool ShmTransport::find_senders(PacketSink& sink) {
  bool all_found = true;
  for (int slot = 0; slot < shm::kMailboxSlots; ++slot) {
    const auto bit = static_cast<std::size_t>(slot);
    const shm::MailboxSlot& shared = mailbox_->header().slots[slot];
    const shm::SlotState state = shared.state.load(std::memory_order_acquire);
    if (slots_known_[bit] || (state != shm::SlotState::kOpen && state != shm::SlotState::kLeft)) continue;
    const PeerAddress sender = shared.sender;
    int endpoint = find_foreign(sender.name);
    const int earlier_slot = endpoint >= 0 ? foreign(endpoint).inbound_slot : -1;
    if (sender.name.job == region_.job ||
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
      endpoint = add_foreign(sender);
      sink.peer_joined(endpoint);
    }
    Foreign& one = foreign(endpoint);
    one.ended = false;
    if (one.to == nullptr) {
      one.address = sender;
      std::string error;
      open_foreign(endpoint, &error);  // if it fails, the sender is gone again, but its packets count
      one.ended = false;
    }
    one.inbound_slot = slot;
    peers_[static_cast<std::size_t>(endpoint)].receiver =
        shm::RingReceiver(mailbox_->ring(slot), mailbox_->bulk_capacity());
    inbound_.push_back(endpoint);
  }
  return all_found;
}

void ShmTransport::examine_soon() {
  const std::int64_t now = clock_ns();
  if (now - examined_ns_ < kExaminationPauseNs) return;
  examined_ns_ = now;
  examination_due_ = true;
}

void ShmTransport::look_for_ended(PacketSink& sink) {
  for (int endpoint = size_; endpoint < endpoints(); ++endpoint) {
    const Foreign& one = foreign(endpoint);
    if (one.ended) continue;
    const bool finalized = one.to != nullptr && one.to->finalized();
    if (!finalized && !state_of_process(one.address.mailbox.pid).ended()) {
      if (is_silent(endpoint)) sink.peer_finishing(endpoint);
      continue;
    }
    if (end(endpoint, finalized)) sink.peer_ended(endpoint, finalized);
  }
}

/// Lets go of a process that has ended, unless packets of its are left to be taken.
bool ShmTransport::end(int endpoint, bool finalized) {
  Foreign& one = foreign(endpoint);
  Peer& peer = peers_[static_cast<std::size_t>(endpoint)];
  if (one.inbound_slot >= 0) {
    Packet packet;
    const auto& slot = mailbox_->header().slots[one.inbound_slot];
    if (finalized && slot.state.load(std::memory_order_acquire) != shm::SlotState::kLeft) return false;
    if (peer.receiver.peek(&packet, &gathered_)) return false;
    inbound_.erase(std::find(inbound_.begin(), inbound_.end(), endpoint));
    slots_known_[static_cast<std::size_t>(one.inbound_slot)] = false;
    mailbox_->free_slot(one.inbound_slot);
  }
  one.died = !finalized && !(one.to != nullptr && one.to->finishing());
  one.to.reset();
  one.inbound_slot = -1;
  one.ended = true;
  peer = nowhere();
  return true;
}

void ShmTransport::leave() {
  for (int endpoint = size_; endpoint < endpoints(); ++endpoint) {
    Foreign& one = foreign(endpoint);
    one.to.reset();
    one.inbound_slot = -1;
    one.ended = true;
    peers_[static_cast<std::size_t>(endpoint)] = nowhere();
  }
  inbound_.clear();
  slots_known_.reset();
  mailbox_.reset();  // which tells those who send
}

// ----- ports -----------------------------------------------------------------------------------------------

bool ShmTransport::open_port(std::uint64_t port) {
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

void ShmTransport::close_port(std::uint64_t port) {
  if (mailbox_ == nullptr) return;
  for (std::atomic<std::uint64_t>& place : mailbox_->header().ports) {
    if (place.load(std::memory_order_relaxed) == port) place.store(0, std::memory_order_release);
  }
}

bool ShmTransport::has_port(const PeerAddress& owner, std::uint64_t port) {
  std::string error;
  std::uint64_t bulk_capacity = 0;
  const std::unique_ptr<SharedSegment> segment = shm::open_mailbox(owner, &bulk_capacity, &error);
  if (segment == nullptr) return false;
  const auto& header = *reinterpret_cast<const shm::MailboxHeader*>(segment->base());
  return std::any_of(std::begin(header.ports), std::end(header.ports),
                     [port](const auto& place) { return place.load(std::memory_order_acquire) == port; });
}

}  // namespace tasuki
