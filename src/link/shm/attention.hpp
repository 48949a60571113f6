// Attention: which of its rings a rank looks at, so that a poll costs the same however many ranks there are.
//
// A rank watches a few rings, those that were used last: it looks at each of them on every poll. For all
// others the sender says that something is there, by a bit in the receiver's memory. The receiver says which
// rings it watches by bits of its own, so that senders to a watched ring only read a line that hardly
// ever changes: no atomic instruction, no fence. Where there are no more ranks than can be watched, all are,
// from the start, and there are no bits.
//
// A sender may still believe in a watch that the receiver has just given up. So a ring that is given up is
// looked at on every poll until the next one is, and all rings that were ever used are looked at now and then
// and on every poll of a rank that is about to sleep. A ring that was never used was never watched: its first
// packet sets the bit. So no packet is lost, nor waits longer than kSweepPolls polls; and a sleeper is woken:
//  - a packet published before the sleeper's fence is found by the sweep behind it (or by its bit, set before
//    it);
//  - a sender that publishes later sees the sleeping flag (doorbell.hpp).
//
// Invariants:
//  1. A ring is in watched_ if and only if its bit in `watched` is set. A ring in watched_ is in known_.
//  2. A ring that holds a packet and is not in known_ has its bit in `waiting` set, or its sender is between
//  publishing the packet and setting it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tasuki::shm {

inline constexpr int kWatchedMax = 16;

/// 64 sources' bits.
using AttentionWord = std::atomic<std::uint64_t>;
static_assert(sizeof(AttentionWord) == 8);

/// The shared bits of one receiver: `waiting` (writers: senders set, the receiver takes; seq_cst), then
/// `watched` (writer: the receiver, relaxed), each in lines of its own. Zero at first.
struct AttentionBits {
  AttentionWord* waiting = nullptr;
  AttentionWord* watched = nullptr;

  static std::size_t words(int size) { return static_cast<std::size_t>(size + 63) / 64; }
  /// Bytes for one receiver, a multiple of 64; 0 where all can be watched.
  static std::size_t bytes_needed(int size) {
    return size <= kWatchedMax ? 0 : 2 * ((words(size) * sizeof(AttentionWord) + 63) / 64 * 64);
  }
  static AttentionBits at(std::byte* memory, int size) {
    return {reinterpret_cast<AttentionWord*>(memory),
            reinterpret_cast<AttentionWord*>(memory + bytes_needed(size) / 2)};
  }
};

/// The sender's side of one ring.
struct Raise {
  AttentionWord* waiting = nullptr;  // null: the ring is always watched
  AttentionWord* watched = nullptr;
  std::uint64_t bit = 0;

  Raise() = default;
  Raise(const AttentionBits& of_receiver, int sender)
      : waiting(of_receiver.waiting + sender / 64),
        watched(of_receiver.watched + sender / 64),
        bit(std::uint64_t{1} << sender % 64) {}

  /// To be called after something was published in the ring, before the sleeping flag is looked at.
  void operator()() const {
    if (waiting == nullptr || (watched->load(std::memory_order_relaxed) & bit) != 0) return;
    waiting->fetch_or(bit, std::memory_order_seq_cst);
  }
};

/// The receiver's side of all its rings. Thread safety: as the link's.
class Attention {
 public:
  /// With no bits: every ring is watched.
  Attention(int size, AttentionBits bits) : size_(size), bits_(bits) {
    if (bits.waiting != nullptr) sources_.resize(static_cast<std::size_t>(size));
  }

  /// Calls `look(source)`, which says how many packets it took, for the rings that are to be looked at; for
  /// all that were ever used when `thorough`. A look that took `most` packets may have left some. Returns how
  /// many packets were taken in all.
  template <class Look>
  int poll(bool thorough, int most, Look&& look) {
    int taken = 0;
    if (bits_.waiting == nullptr) {
      for (int source = 0; source < size_; ++source) taken += look(source);
      return taken;
    }
    ++turn_;
    for (int i = 0; i < watched_count_; ++i) {
      const int source = watched_[static_cast<std::size_t>(i)];
      const int found = look(source);
      if (found != 0) of(source).used_turn = turn_;
      taken += found;
    }
    if (given_up_ >= 0) taken += look(given_up_);
    taken += answer_bits(most, look);
    if (thorough || turn_ % kSweepPolls == 0) {
      for (std::size_t i = 0; i < known_.size(); ++i) taken += look(known_[i]);
    }
    return taken;
  }

  /// The rings that were ever used, as far as this rank knows; all where all are watched.
  template <class Visit>
  void for_each_known(Visit&& visit) const {
    if (watches_all()) {
      for (int source = 0; source < size_; ++source) visit(source);
    } else {
      for (const int source : known_) visit(source);
    }
  }

  /// Watches the ring of `source` from now on, if there is one to be given up for it.
  void watch(int source);
  bool watches_all() const { return bits_.waiting == nullptr; }

 private:
  static constexpr std::uint64_t kSweepPolls = 256;
  static constexpr std::uint64_t kUnusedPolls = 64;  // after which a watched ring may be given up

  struct Source {
    bool known = false;
    bool watched = false;
    std::uint64_t used_turn = 0;
  };

  template <class Look>
  int answer_bits(int most, Look&& look) {
    int taken = 0;
    for (std::size_t word = 0; word < AttentionBits::words(size_); ++word) {
      // seq_cst: between arm() and sleep() this load must not be older than the sleeping flag's store.
      if (bits_.waiting[word].load(std::memory_order_seq_cst) == 0) continue;
      std::uint64_t set = bits_.waiting[word].exchange(0, std::memory_order_seq_cst);
      for (; set != 0; set &= set - 1) {
        const int source = static_cast<int>(word) * 64 + std::countr_zero(set);
        if (source >= size_) break;
        watch(source);
        const int found = look(source);
        taken += found;
        if (found == most && !of(source).watched) Raise(bits_, source)();
      }
    }
    return taken;
  }
  Source& of(int source) { return sources_[static_cast<std::size_t>(source)]; }
  void set_watched(int source, bool watched);

  int size_;
  AttentionBits bits_;
  std::uint64_t turn_ = 0;
  std::array<int, kWatchedMax> watched_{};
  int watched_count_ = 0;
  int given_up_ = -1;  // the ring that was given up last
  std::vector<int> known_;
  std::vector<Source> sources_;
};

}  // namespace tasuki::shm
