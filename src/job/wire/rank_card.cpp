// A card is words between blanks; the processors are ranges.
#include "job/wire/rank_card.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <tuple>

namespace tasuki::wire {
namespace {

constexpr int kProcessorsMax = 1 << 16;
constexpr std::size_t kRangeBytesMax = 256;  // of their text: a card goes into one value

/// "0-3,8"; the first ones where there are very many ranges.
std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size() && text.size() < kRangeBytesMax;) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text.empty() ? "-" : text;
}

bool read_ranges(const std::string& text, std::vector<int>* numbers) {
  if (text == "-") return true;
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    std::istringstream ends(range);
    int first = -1;
    int last = -1;
    char dash = '-';
    if (!(ends >> first)) return false;
    last = first;
    if (ends >> dash && !(dash == '-' && ends >> last)) return false;
    if (first < 0 || last < first || last >= kProcessorsMax) return false;
    for (int number = first; number <= last; ++number) numbers->push_back(number);
  }
  return true;
}

}  // namespace

std::string encode(const RankCard& card) {
  std::ostringstream text;
  text << card.machine << ' ' << card.process.numbering << ' ' << card.network_namespace << ' ' << card.user
       << ' ' << card.process.pid << ' ' << card.process.start_ticks << ' ' << card.memory_fd << ' '
       << card.memory_id << ' ' << card.job_id << ' ' << card.quota << ' ' << ranges_text(card.processors)
       << ' ' << card.host.substr(0, 64);
  return text.str();
}

bool decode(const std::string& text, RankCard* card) {
  std::istringstream words(text);
  std::string ranges;
  words >> card->machine >> card->process.numbering >> card->network_namespace >> card->user >>
      card->process.pid >> card->process.start_ticks >> card->memory_fd >> card->memory_id >> card->job_id >>
      card->quota >> ranges >> card->host;
  return !words.fail() && card->process.pid > 0 && read_ranges(ranges, &card->processors);
}

std::vector<int> possible_hosts(const std::vector<RankCard>& cards) {
  using Place = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;
  std::vector<std::pair<Place, int>> lowest;
  std::vector<int> hosts;
  for (int rank = 0; rank < static_cast<int>(cards.size()); ++rank) {
    const RankCard& card = cards[static_cast<std::size_t>(rank)];
    const Place place{card.machine, card.process.numbering, card.user};
    const auto found =
        std::find_if(lowest.begin(), lowest.end(), [&](const auto& one) { return one.first == place; });
    hosts.push_back(found != lowest.end() ? found->second : rank);
    if (found == lowest.end()) lowest.emplace_back(place, rank);
  }
  return hosts;
}

std::vector<int> nodes_of(const std::vector<int>& hosts, const std::vector<bool>& mapped) {
  std::vector<int> nodes;
  int count = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto host = static_cast<std::size_t>(hosts[rank]);
    const bool alone = host >= rank || !mapped[rank];
    nodes.push_back(alone ? count++ : nodes[host]);
  }
  return nodes;
}

int processors_of(const std::vector<RankCard>& cards, const std::vector<int>& ranks) {
  std::set<int> processors;
  int quota = 0;
  for (const int rank : ranks) {
    const RankCard& card = cards[static_cast<std::size_t>(rank)];
    processors.insert(card.processors.begin(), card.processors.end());
    if (card.quota > 0) quota = quota > 0 ? std::min(quota, card.quota) : card.quota;
  }
  const int count = std::max(1, static_cast<int>(processors.size()));
  return quota > 0 ? std::min(count, quota) : count;
}

bool share_interfaces(const std::vector<RankCard>& cards) {
  return std::all_of(cards.begin(), cards.end(), [&](const RankCard& card) {
    return card.machine == cards[0].machine && card.network_namespace == cards[0].network_namespace;
  });
}

std::string hosts_text(const std::vector<RankCard>& cards) {
  std::set<std::string> told;
  std::string text;
  for (const RankCard& card : cards) {
    if (told.insert(card.host).second) text += (text.empty() ? "" : ", ") + card.host;
  }
  return text;
}

}  // namespace tasuki::wire
