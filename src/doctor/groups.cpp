// Grouping: ranks that differ only in their peer, or in how long they wait, are reported together.
#include "doctor/groups.hpp"

#include <algorithm>
#include <map>

#include "doctor/call.hpp"

namespace tasuki::doctor {
namespace {

const char* state_word(const RankState& state) {
  if (state.life == Life::kEnded) return "ended";
  if (state.stopped) return "stopped";
  if (state.life == Life::kStarted) return "starting";
  if (state.life == Life::kFinalized) return "finalized";
  if (waits(state)) return "waiting";
  if (state.life == Life::kJoining) return "joining";
  if (state.report && kind_of(function_of(state)) == CallKind::kPoll) return "polling";
  return state.line.inside ? "in MPI" : "computing";
}

/// What ranks of one group share.
std::string key_of(const RankState& state, const std::string& word) {
  if (word == "ended") return word + end_text(state.wait_status) + whereabouts(state);
  if (word != "waiting") return word + whereabouts(state);
  const PeerText arguments = arguments_of(state);
  return word + std::string(name_of(function_of(state))) + arguments.before + arguments.special +
         arguments.after + place_text(state, state.report->site);
}

/// The peer in words that hold for all: "3", "rank + 1", "several".
std::string common_peer(const World& world, const std::vector<RankId>& ranks) {
  const auto state = [&](std::size_t i) -> const RankState& {
    return world.ranks[static_cast<std::size_t>(ranks[i].rank)];
  };
  const PeerText first = arguments_of(state(0));
  if (!first.special.empty()) return first.special;
  const int size = static_cast<int>(world.ranks.size());
  const auto distance = [&](std::size_t i) {
    return ((arguments_of(state(i)).peer - ranks[i].rank) % size + size) % size;
  };
  bool same = true;
  bool shifted = true;
  bool crossed = true;  // pairs
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    same &= arguments_of(state(i)).peer == first.peer;
    shifted &= distance(i) == distance(0);
  }
  for (std::size_t i = 0; i < ranks.size(); ++i)
    crossed &= arguments_of(state(i)).peer == (ranks[i].rank ^ 1);
  if (same) return std::to_string(first.peer);
  if (crossed) return size == 2 ? "the other rank" : "partner in pairs 0-1, 2-3, ...";
  if (!shifted) return "several";
  const int by = distance(0);
  if (by == 0) return "itself";
  return by <= size / 2 ? format("rank + %d", by) : format("rank - %d", size - by);
}

std::string waiting_text(const World& world, const std::vector<RankId>& ranks, std::int64_t at_ns) {
  std::int64_t shortest = INT64_MAX;
  std::int64_t longest = 0;
  for (const RankId& id : ranks) {
    const std::int64_t since = world.ranks[static_cast<std::size_t>(id.rank)].report->since_ns;
    if (since <= 0 || since > at_ns) continue;
    shortest = std::min(shortest, at_ns - since);
    longest = std::max(longest, at_ns - since);
  }
  std::string text = "waiting ";
  if (shortest <= longest) {
    const std::string most = duration_text(longest);
    const std::string least = duration_text(shortest);
    text += (least == most ? most : least + " to " + most) + " ";
  }
  const RankState& first = world.ranks[static_cast<std::size_t>(ranks.front().rank)];
  return text + "in " + call_text(first, common_peer(world, ranks));
}

std::string group_text(const World& world, const Group& group, std::int64_t at_ns) {
  const RankState& first = world.ranks[static_cast<std::size_t>(group.ranks.front().rank)];
  if (group.state == "waiting") return waiting_text(world, group.ranks, at_ns);
  if (group.state == "ended") return end_text(first.wait_status) + " " + whereabouts(first);
  if (group.state == "stopped") return "stopped " + whereabouts(first);
  if (group.state == "polling") return "polling " + whereabouts(first);
  if (group.state == "computing") return "computing " + whereabouts(first);
  return whereabouts(first);
}

}  // namespace

void group_ranks(const World& world, int world_index, std::int64_t at_ns, std::vector<Group>* groups) {
  std::map<std::string, std::size_t> places;
  const std::size_t begin = groups->size();
  for (std::size_t rank = 0; rank < world.ranks.size(); ++rank) {
    const std::string word = state_word(world.ranks[rank]);
    const auto [place, is_new] = places.try_emplace(key_of(world.ranks[rank], word), groups->size());
    if (is_new) groups->push_back({word, {}, {}});
    (*groups)[place->second].ranks.push_back({world_index, static_cast<int>(rank)});
  }
  for (std::size_t i = begin; i < groups->size(); ++i) {
    (*groups)[i].text = group_text(world, (*groups)[i], at_ns);
  }
}

}  // namespace tasuki::doctor
