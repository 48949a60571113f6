// InprocLink: a toy link for tests. Ranks are threads; packets are copied into queues under one
// mutex. It is slow and plainly right, so what behaves differently over it and over shared memory shows a
// mistake.
//
// Thread safety: each object belongs to one rank; they meet in the InprocNetwork, which locks.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "link/link.hpp"

namespace tasuki {

/// Decides what comes when, where one rank runs at a time: so a test may try many orders, and any again.
class DeliveryScript {
 public:
  /// One of so many ways to go on, from 0. REQUIRES: choices >= 1.
  virtual std::size_t choose(std::size_t choices) = 0;

  /// Something may have come for this endpoint, or may yet; or there is room again.
  virtual void rung(int endpoint) = 0;

  /// Which of the packets that wait on one way comes next. A link keeps their order: anything but the first
  /// is a fault, planted to see whether it is found.
  virtual std::size_t place_in_line(std::size_t /*packets*/) { return 0; }

 protected:
  ~DeliveryScript() = default;
};

/// What the ranks of one test world share.
class InprocNetwork {
 public:
  /// At most `packets_max` packets wait in one FIFO, so that senders meet a full one. `late_copies`: memory
  /// named by keys is copied some polls later, so that packets pass it. `script`: null, or in which order
  /// packets and such copies come; else packets come when the receiver polls, from each source in turn.
  InprocNetwork(int size, std::size_t packets_max, bool late_copies = false,
                DeliveryScript* script = nullptr);

  /// What the Node of such ranks gives.
  void wake(int endpoint);
  std::byte* pair_page(int from, int to);

 private:
  friend class InprocLink;
  struct StoredPacket {
    alignas(8) std::array<std::byte, sizeof(HeadWords) + kPutBytesMax> head;
    std::uint32_t data_bytes = 0;
    bool small = false;  // sent by put()
    std::vector<std::byte> bulk;
  };
  struct Inbox {
    std::vector<std::deque<std::unique_ptr<StoredPacket>>> fifos;  // by source
    std::condition_variable bell;
    std::uint32_t rings = 0;
    std::deque<std::uint32_t> words;  // of puts that are there: Link::put_and_tell()
  };
  void ring(int endpoint);  // REQUIRES: mutex_ held
  struct alignas(64) PairPage {
    std::byte bytes[4096];
  };

  std::mutex mutex_;
  std::size_t packets_max_;
  const bool late_copies_;
  DeliveryScript* const script_;
  std::deque<Inbox> inboxes_;         // by destination
  std::vector<PairPage> pair_pages_;  // by source * size + destination
};

class InprocLink final : public Link {
 public:
  InprocLink(InprocNetwork& network, int rank) : network_(network), rank_(rank) {}

  int endpoints() const override { return static_cast<int>(network_.inboxes_.size()); }
  int self() const override { return rank_; }
  std::uint32_t bulk_bytes_max() const override { return 4096; }
  bool reserve(int peer, std::uint32_t bulk_bytes, PacketRoom* room) override;
  void commit(int peer, const PacketRoom& room) override;
  bool put(int peer, const HeadWords& head, const void* data, std::uint32_t bytes) override;
  Found take_if(int source, const HeadFilter& filter, void* buffer, std::uint64_t capacity,
                std::uint32_t looks, SmallPacket* taken) override;
  int poll(PacketSink& sink) override;
  std::uint32_t arm() override;
  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override;
  void disarm() override {}
  void ring() override;

  // All memory is common: a key is an address.
  bool can_put(int) const override { return true; }
  bool register_memory(int peer, void* base, std::size_t bytes, MemoryKey* key) override;
  bool put_memory(int peer, const MemoryKey& key, std::uint64_t offset, const void* from, std::size_t bytes,
                  std::uint64_t* completed) override;
  bool get_memory(int peer, const MemoryKey& key, std::uint64_t offset, void* to, std::size_t bytes,
                  std::uint64_t* completed) override;
  bool put_and_tell(int peer, const MemoryKey& key, std::uint64_t offset, const void* from, std::size_t bytes,
                    std::uint32_t word, std::uint64_t* completed) override;

 private:
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
    std::uint64_t* completed;
    int polls_left;
    int told = -1;  // who is told; -1: nobody
    std::uint32_t word = 0;
  };
  bool copy(const Copy& copy);
  void make(const Copy& copy);
  bool take_word(std::uint32_t* word);
  int make_late_copies();
  int make_copies_by(DeliveryScript& script);
  void find_sources();
  bool deliver(int source, PacketSink& sink);

  InprocNetwork& network_;
  int rank_;
  bool polling_ = false;
  std::vector<int> sources_;  // of the packets to deliver, while polling
  std::deque<Copy> copies_;   // late ones
  std::vector<std::unique_ptr<InprocNetwork::StoredPacket>>
      reserved_;  // by peer: between reserve() and commit()
};

}  // namespace tasuki
