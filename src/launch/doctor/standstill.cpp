// Comparing two looks.
#include "launch/doctor/standstill.hpp"

#include <algorithm>
#include <utility>

namespace tasuki::launch {
namespace {

using Place = RankLook::Place;

bool all_wait(const std::vector<RankLook>& ranks) {
  const auto is = [](Place place) { return [place](const RankLook& rank) { return rank.place == place; }; };
  return std::none_of(ranks.begin(), ranks.end(), is(Place::kOutside)) &&
         std::any_of(ranks.begin(), ranks.end(), is(Place::kInside));
}

std::uint64_t mixed(std::uint64_t sum, std::uint64_t value) {
  sum = (sum ^ value) * 0x9e3779b97f4a7c15;  // odd: no value is lost
  return sum ^ sum >> 29;
}

std::uint64_t quiet_among(const std::vector<RankLook>& before, const std::vector<RankLook>& now) {
  std::uint64_t sum = 0;
  for (std::size_t rank = 0; rank < std::min(before.size(), now.size()); ++rank) {
    if (now[rank].place != Place::kInside || now[rank] != before[rank]) continue;
    sum = mixed(mixed(mixed(sum, rank + 1), now[rank].word), now[rank].moves) | 1;
  }
  return sum;
}

}  // namespace

void Standstill::look(std::vector<RankLook> ranks, std::int64_t now_ns) {
  const bool comparable = looked_ns_ != 0 && now_ns - looked_ns_ <= kGapMaxNs;
  const bool same = comparable && ranks == ranks_;
  if (!all_wait(ranks)) {
    since_ns_ = 0;
  } else if (!same || since_ns_ == 0) {
    since_ns_ = now_ns;
  }
  quiet_ = comparable ? quiet_among(ranks_, ranks) : 0;
  ranks_ = std::move(ranks);
  looked_ns_ = now_ns;
}

}  // namespace tasuki::launch
