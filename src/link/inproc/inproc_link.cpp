// InprocLink: queues under a mutex.
#include "link/inproc/inproc_link.hpp"

#include <chrono>
#include <cstring>
#include <utility>

namespace tasuki {
namespace {

constexpr int kPollsLate = 300;

}  // namespace

InprocNetwork::InprocNetwork(int size, std::size_t packets_max, bool late_copies, DeliveryScript* script)
    : packets_max_(packets_max),
      late_copies_(late_copies),
      script_(script),
      inboxes_(static_cast<std::size_t>(size)),
      pair_pages_(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {
  for (Inbox& inbox : inboxes_) inbox.fifos.resize(static_cast<std::size_t>(size));
}

void InprocNetwork::ring(int endpoint) {
  Inbox& inbox = inboxes_[static_cast<std::size_t>(endpoint)];
  ++inbox.rings;
  inbox.bell.notify_all();
  if (script_ != nullptr) script_->rung(endpoint);
}

bool InprocLink::reserve(int peer, std::uint32_t bulk_bytes, PacketRoom* room) {
  const std::lock_guard lock(network_.mutex_);
  const auto& fifo = network_.inboxes_[static_cast<std::size_t>(peer)].fifos[static_cast<std::size_t>(rank_)];
  if (fifo.size() >= network_.packets_max_) return false;
  reserved_.resize(network_.inboxes_.size());
  auto& packet = reserved_[static_cast<std::size_t>(peer)];
  packet = std::make_unique<InprocNetwork::StoredPacket>();
  packet->bulk.resize(bulk_bytes);
  *room = {packet->head.data(), packet->bulk.data(), bulk_bytes};
  return true;
}

void InprocLink::commit(int peer, const PacketRoom&) {
  const std::lock_guard lock(network_.mutex_);
  auto& fifo = network_.inboxes_[static_cast<std::size_t>(peer)].fifos[static_cast<std::size_t>(rank_)];
  fifo.push_back(std::move(reserved_[static_cast<std::size_t>(peer)]));
  network_.ring(peer);
}

bool InprocLink::put(int peer, const HeadWords& head, const void* data, std::uint32_t bytes) {
  PacketRoom room;
  if (!reserve(peer, 0, &room)) return false;
  auto& packet = *reserved_[static_cast<std::size_t>(peer)];
  std::memcpy(packet.head.data(), &head, sizeof head);
  if (bytes != 0) std::memcpy(packet.head.data() + sizeof head, data, bytes);
  packet.data_bytes = bytes;
  packet.small = true;
  commit(peer, room);
  return true;
}

Found InprocLink::take_if(int source, const HeadFilter& filter, void* buffer, std::uint64_t capacity,
                          std::uint32_t, SmallPacket* taken) {
  const std::lock_guard lock(network_.mutex_);
  auto& fifo = network_.inboxes_[static_cast<std::size_t>(rank_)].fifos[static_cast<std::size_t>(source)];
  if (fifo.empty()) return Found::kNothing;
  if (network_.script_ != nullptr && network_.script_->choose(2) == 0) return Found::kNothing;  // not yet
  const InprocNetwork::StoredPacket& packet = *fifo.front();
  std::memcpy(&taken->head, packet.head.data(), sizeof taken->head);
  if (polling_ || !packet.small || !filter.passes(taken->head) || packet.data_bytes > capacity)
    return Found::kOther;
  taken->bytes = packet.data_bytes;
  if (packet.data_bytes != 0) std::memcpy(buffer, packet.head.data() + sizeof(HeadWords), packet.data_bytes);
  fifo.pop_front();
  network_.ring(source);  // there is room again
  return Found::kTaken;
}

int InprocLink::poll(PacketSink& sink) {
  if (polling_) return 0;
  polling_ = true;
  int delivered = 0;
  for (std::uint32_t word = 0; take_word(&word); ++delivered) sink.written(word);
  find_sources();
  for (const int source : sources_) delivered += deliver(source, sink) ? 1 : 0;
  polling_ = false;
  return delivered + make_late_copies();
}

/// Those that packets have come from; by the script some of them, in any order, each as often as it says.
void InprocLink::find_sources() {
  sources_.clear();
  const std::lock_guard lock(network_.mutex_);
  const auto& fifos = network_.inboxes_[static_cast<std::size_t>(rank_)].fifos;
  for (int source = 0; source < endpoints(); ++source) {
    if (!fifos[static_cast<std::size_t>(source)].empty()) sources_.push_back(source);
  }
  if (network_.script_ == nullptr || sources_.empty()) return;
  DeliveryScript& script = *network_.script_;
  const std::vector<int> all = sources_;
  sources_.resize(script.choose(all.size() + 1));
  for (int& source : sources_) source = all[script.choose(all.size())];
  script.rung(rank_);  // for the rest
}

bool InprocLink::deliver(int source, PacketSink& sink) {
  std::unique_ptr<InprocNetwork::StoredPacket> stored;
  {
    const std::lock_guard lock(network_.mutex_);
    auto& fifo = network_.inboxes_[static_cast<std::size_t>(rank_)].fifos[static_cast<std::size_t>(source)];
    if (fifo.empty()) return false;
    const std::size_t place = network_.script_ == nullptr ? 0 : network_.script_->place_in_line(fifo.size());
    stored = std::move(fifo[place]);
    fifo.erase(fifo.begin() + static_cast<std::ptrdiff_t>(place));
    network_.ring(source);  // there is room again
  }
  sink.packet(Packet{source, static_cast<std::uint32_t>(stored->bulk.size()), stored->data_bytes,
                     stored->head.data(), stored->bulk.data()});
  return true;
}

std::uint32_t InprocLink::arm() {
  const std::lock_guard lock(network_.mutex_);
  return network_.inboxes_[static_cast<std::size_t>(rank_)].rings;
}

bool InprocLink::sleep(std::uint32_t ticket, std::int64_t timeout_ns) {
  if (!copies_.empty()) return true;
  std::unique_lock lock(network_.mutex_);
  InprocNetwork::Inbox& inbox = network_.inboxes_[static_cast<std::size_t>(rank_)];
  return inbox.bell.wait_for(lock, std::chrono::nanoseconds(timeout_ns),
                             [&] { return inbox.rings != ticket; });
}

void InprocLink::ring() {
  network_.wake(rank_);
}

bool InprocLink::register_memory(int, void* base, std::size_t bytes, MemoryKey* key) {
  *key = {reinterpret_cast<std::uint64_t>(base), bytes, 0};
  return true;
}

bool InprocLink::copy(const Copy& copy) {
  if (network_.late_copies_) {
    copies_.push_back(copy);
    return true;
  }
  const std::lock_guard lock(network_.mutex_);
  make(copy);
  return true;
}

/// REQUIRES: mutex_ held.
void InprocLink::make(const Copy& copy) {
  std::memcpy(copy.to, copy.from, copy.bytes);
  ++*copy.completed;
  if (copy.told < 0) return;
  network_.inboxes_[static_cast<std::size_t>(copy.told)].words.push_back(copy.word);
  network_.ring(copy.told);
}

/// Words go before the packets that came with them, so they pass some that were sent earlier.
bool InprocLink::take_word(std::uint32_t* word) {
  const std::lock_guard lock(network_.mutex_);
  std::deque<std::uint32_t>& words = network_.inboxes_[static_cast<std::size_t>(rank_)].words;
  if (words.empty()) return false;
  *word = words.front();
  words.pop_front();
  return true;
}

int InprocLink::make_late_copies() {
  if (copies_.empty()) return 0;
  if (network_.script_ != nullptr) return make_copies_by(*network_.script_);
  int made = 0;
  const std::lock_guard lock(network_.mutex_);
  for (Copy& one : copies_) --one.polls_left;
  for (; !copies_.empty() && copies_.front().polls_left <= 0; ++made) {
    const Copy one = copies_.front();
    copies_.pop_front();
    make(one);
  }
  return made;
}

/// Copies may pass each other.
int InprocLink::make_copies_by(DeliveryScript& script) {
  int made = 0;
  const std::lock_guard lock(network_.mutex_);
  for (; !copies_.empty() && script.choose(2) == 0; ++made) {
    const auto one = copies_.begin() + static_cast<std::ptrdiff_t>(script.choose(copies_.size()));
    const Copy copy = *one;
    copies_.erase(one);
    make(copy);
  }
  if (!copies_.empty()) script.rung(rank_);
  return made;
}

bool InprocLink::put_memory(int, const MemoryKey& key, std::uint64_t offset, const void* from,
                            std::size_t bytes, std::uint64_t* completed) {
  if (offset > key.bytes || bytes > key.bytes - offset) return false;
  return copy({reinterpret_cast<void*>(key.word + offset), from, bytes, completed, kPollsLate});
}

bool InprocLink::get_memory(int, const MemoryKey& key, std::uint64_t offset, void* to, std::size_t bytes,
                            std::uint64_t* completed) {
  if (offset > key.bytes || bytes > key.bytes - offset) return false;
  return copy({to, reinterpret_cast<const void*>(key.word + offset), bytes, completed, kPollsLate});
}

bool InprocLink::put_and_tell(int peer, const MemoryKey& key, std::uint64_t offset, const void* from,
                              std::size_t bytes, std::uint32_t word, std::uint64_t* completed) {
  if (offset > key.bytes || bytes > key.bytes - offset) return false;
  return copy({reinterpret_cast<void*>(key.word + offset), from, bytes, completed, kPollsLate, peer, word});
}

void InprocNetwork::wake(int endpoint) {
  const std::lock_guard lock(mutex_);
  ring(endpoint);
}

std::byte* InprocNetwork::pair_page(int from, int to) {
  const std::size_t index = static_cast<std::size_t>(from) * inboxes_.size() + static_cast<std::size_t>(to);
  return pair_pages_[index].bytes;
}

}  // namespace tasuki
