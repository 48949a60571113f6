// A diagnosis as text for people.
#include <algorithm>

#include "doctor/call.hpp"

namespace tasuki::doctor {
namespace {

constexpr std::size_t kGroupsMax = 24;
constexpr std::size_t kFindingsMax = 12;
constexpr std::size_t kRankListMax = 60;  // columns

std::string world_prefix(const Diagnosis& diagnosis, int world) {
  const int number = diagnosis.world_numbers[static_cast<std::size_t>(world)];
  return number == 0 ? "" : format("in spawned world %d: ", number);
}

/// A list of ranks that fits into a line of the table.
std::string short_list(const Group& group, const std::vector<int>& world_numbers) {
  std::string list = rank_list(group.ranks, world_numbers);
  if (list.size() <= kRankListMax) return list;
  const std::size_t cut = list.rfind(',', kRankListMax);
  return list.substr(0, cut == list.npos ? kRankListMax : cut) + ", ... (" +
         std::to_string(group.ranks.size()) + ")";
}

void add_table(const Diagnosis& diagnosis, std::string* out) {
  std::size_t column = 0;
  const std::size_t shown = std::min(diagnosis.groups.size(), kGroupsMax);
  for (std::size_t i = 0; i < shown; ++i) {
    column = std::max(column, short_list(diagnosis.groups[i], diagnosis.world_numbers).size());
  }
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < diagnosis.groups.size(); ++i) {
    const Group& group = diagnosis.groups[i];
    if (i >= shown) {
      left_out += group.ranks.size();
      continue;
    }
    std::string list = short_list(group, diagnosis.world_numbers);
    list.resize(column, ' ');
    *out += (group.ranks.size() == 1 ? "  rank  " : "  ranks ") + list + "  " + group.text + "\n";
  }
  if (left_out > 0)
    *out += format("  and %zu more ranks in %zu other states\n", left_out, diagnosis.groups.size() - shown);
}

void add_finding(const Diagnosis& diagnosis, const Finding& finding, std::string* out) {
  *out += "  * " + (finding.ranks.empty() ? "" : world_prefix(diagnosis, finding.ranks.front().world)) +
          finding.text.front() + " [" + finding.id + (finding.certain ? ", certain" : "") + "]\n";
  for (std::size_t i = 1; i < finding.text.size(); ++i) *out += "      " + finding.text[i] + "\n";
  if (!finding.hint.empty()) *out += "      hint: " + finding.hint + "\n";
}

}  // namespace

std::string rank_list(const std::vector<RankId>& ranks, const std::vector<int>& world_numbers) {
  std::string list;
  for (std::size_t i = 0; i < ranks.size();) {
    const int world = ranks[i].world;
    std::vector<int> numbers;
    for (; i < ranks.size() && ranks[i].world == world; ++i) numbers.push_back(ranks[i].rank);
    const int number = world_numbers[static_cast<std::size_t>(world)];
    if (!list.empty()) list += "; ";
    if (number != 0) list += format("%d: ", number);
    list += numbers_text(numbers);
  }
  return list;
}

std::string text(const Diagnosis& diagnosis) {
  std::size_t ranks = 0;
  for (const int size : diagnosis.world_sizes) ranks += static_cast<std::size_t>(size);
  std::string out = format("%zu rank%s", ranks, ranks == 1 ? "" : "s");
  if (diagnosis.world_sizes.size() > 1) out += format(" in %zu worlds", diagnosis.world_sizes.size());
  out += ":\n";
  add_table(diagnosis, &out);
  out += "verdict:\n";
  const std::size_t shown = std::min(diagnosis.findings.size(), kFindingsMax);
  for (std::size_t i = 0; i < shown; ++i) add_finding(diagnosis, diagnosis.findings[i], &out);
  if (diagnosis.findings.size() > shown) {
    out += format("  and %zu more findings\n", diagnosis.findings.size() - shown);
  }
  if (diagnosis.findings.empty()) {
    const bool any = std::any_of(diagnosis.groups.begin(), diagnosis.groups.end(),
                                 [](const Group& group) { return group.state == "waiting"; });
    out += any ? "  nothing wrong was found: each rank that waits, waits for one that can still come\n"
               : "  nothing wrong was found: no rank waits\n";
  }
  return out;
}

}  // namespace tasuki::doctor
