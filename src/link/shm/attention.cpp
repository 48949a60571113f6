// Attention: which ring is given up for another one.
#include "link/shm/attention.hpp"

namespace tasuki::shm {

void Attention::watch(int source) {
  if (watches_all()) return;
  Source& wanted = of(source);
  if (!wanted.known) {
    wanted.known = true;
    known_.push_back(source);
  }
  wanted.used_turn = turn_;
  if (wanted.watched) return;
  int place = watched_count_;
  if (watched_count_ == kWatchedMax) {
    place = 0;
    for (int i = 1; i < kWatchedMax; ++i) {
      if (of(watched_[static_cast<std::size_t>(i)]).used_turn <
          of(watched_[static_cast<std::size_t>(place)]).used_turn)
        place = i;
    }
    const int oldest = watched_[static_cast<std::size_t>(place)];
    if (turn_ - of(oldest).used_turn < kUnusedPolls) return;
    set_watched(oldest, false);
    given_up_ = oldest;
  } else {
    ++watched_count_;
  }
  watched_[static_cast<std::size_t>(place)] = source;
  set_watched(source, true);
}

void Attention::set_watched(int source, bool watched) {
  of(source).watched = watched;
  AttentionWord& word = bits_.watched[source / 64];
  const std::uint64_t bit = std::uint64_t{1} << source % 64;
  const std::uint64_t old = word.load(std::memory_order_relaxed);
  word.store(watched ? old | bit : old & ~bit, std::memory_order_relaxed);
}

}  // namespace tasuki::shm
