// The plan: deal ranks to groups of cores, then give each rank its part of the group.
#include "launch/mapping/processor_binding.hpp"

#include <algorithm>
#include <map>

#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

using Processors = std::vector<int>;

Processors processors_of(const std::vector<Core>& cores) {
  Processors all;
  for (const Core& core : cores) all.insert(all.end(), core.processors.begin(), core.processors.end());
  return all;
}

/// The cores as the ranks are dealt to them: all in one group, or a group per socket or NUMA node.
std::vector<std::vector<Core>> make_groups(const std::vector<Core>& cores, MapBy map_by) {
  std::map<int, std::vector<Core>> by_number;
  for (const Core& core : cores) {
    const int number = map_by == MapBy::kCore ? 0 : map_by == MapBy::kSocket ? core.socket : core.numa;
    by_number[number].push_back(core);
  }
  std::vector<std::vector<Core>> groups;
  for (auto& [number, group] : by_number) groups.push_back(std::move(group));
  return groups;
}

/// All processors of the socket or NUMA node where `home` lies.
Processors surroundings(const std::vector<Core>& cores, const Core& home, BindTo bind_to) {
  std::vector<Core> around;
  for (const Core& core : cores) {
    const bool same = bind_to == BindTo::kSocket ? core.socket == home.socket : core.numa == home.numa;
    if (same) around.push_back(core);
  }
  return processors_of(around);
}

template <class Item>
std::vector<Item> equal_part(const std::vector<Item>& items, std::size_t index, std::size_t parts) {
  const auto begin = static_cast<std::ptrdiff_t>(items.size() * index / parts);
  const auto end = static_cast<std::ptrdiff_t>(items.size() * (index + 1) / parts);
  return {items.begin() + begin, items.begin() + end};
}

/// The processors of the `index`-th of `ranks` ranks of a group; empty when it has fewer than that.
Processors part_of_group(const std::vector<Core>& group, const std::vector<Core>& cores, std::size_t index,
                         std::size_t ranks, BindTo bind_to) {
  const Processors processors = processors_of(group);
  if (ranks > processors.size()) return {};
  if (bind_to == BindTo::kHwthread) return {processors[index]};
  if (ranks > group.size()) {
    if (bind_to == BindTo::kCore) return {processors[index]};
    if (bind_to == BindTo::kShare) return equal_part(processors, index, ranks);
    return surroundings(cores, group[index % group.size()], bind_to);
  }
  if (bind_to == BindTo::kCore) return group[index].processors;
  const std::vector<Core> share = equal_part(group, index, ranks);
  return bind_to == BindTo::kShare ? processors_of(share) : surroundings(cores, share.front(), bind_to);
}

}  // namespace

BindingPlan plan_bindings(const std::vector<Core>& cores, int ranks, int available, BindTo bind_to,
                          MapBy map_by) {
  BindingPlan plan;
  if (bind_to == BindTo::kNone) {
    plan.reason = "--bind-to none";
    return plan;
  }
  if (ranks > available) {
    plan.reason = format("%d ranks, %d processors available", ranks, available);
    return plan;
  }
  if (cores.empty()) {
    plan.reason = "the cores of this machine are not known";
    return plan;
  }
  const std::vector<std::vector<Core>> groups = make_groups(cores, map_by);
  const auto count = static_cast<std::size_t>(ranks);
  for (std::size_t rank = 0; rank < count; ++rank) {
    const std::size_t group = rank % groups.size();
    const std::size_t ranks_in_group = (count - group + groups.size() - 1) / groups.size();
    Processors processors =
        part_of_group(groups[group], cores, rank / groups.size(), ranks_in_group, bind_to);
    if (processors.empty()) {
      plan.processors.clear();
      plan.reason = "--map-by gives one socket or NUMA node more ranks than it has processors";
      return plan;
    }
    plan.processors.push_back(std::move(processors));
  }
  return plan;
}

bool needs_cores(int ranks, int available, BindTo bind_to, bool report) {
  if (bind_to == BindTo::kNone || ranks > available) return false;
  return ranks > 1 || bind_to != BindTo::kShare || report;
}

std::string processor_list(const std::vector<int>& processors) {
  std::vector<int> sorted = processors;
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin;
    while (end + 1 < sorted.size() && sorted[end + 1] == sorted[end] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(sorted[begin]);
    if (end > begin) text += '-' + std::to_string(sorted[end]);
    begin = end + 1;
  }
  return text;
}

}  // namespace tasuki::launch
