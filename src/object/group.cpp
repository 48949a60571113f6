// Groups (MPI 7.3): ordered sets of endpoints. Every operation is linear in the sizes of its groups (and in
// the largest endpoint that they hold).
#include "object/group.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "object/api.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

/// Finds the rank of an endpoint in one group.
class RankIndex {
 public:
  explicit RankIndex(const Group& group) : group_(group) {
    int endpoint_max = -1;
    bool identity = true;
    for (int rank = 0; rank < group.size(); ++rank) {
      const int endpoint = group.endpoints[static_cast<std::size_t>(rank)];
      endpoint_max = std::max(endpoint_max, endpoint);
      identity = identity && endpoint == rank;
    }
    if (identity) return;
    ranks_.assign(static_cast<std::size_t>(endpoint_max) + 1, kUndefined);
    for (int rank = 0; rank < group.size(); ++rank)
      ranks_[static_cast<std::size_t>(group.endpoints[static_cast<std::size_t>(rank)])] = rank;
  }

  int find(int endpoint) const {
    if (ranks_.empty()) return endpoint < group_.size() ? endpoint : kUndefined;
    return static_cast<std::size_t>(endpoint) < ranks_.size() ? ranks_[static_cast<std::size_t>(endpoint)]
                                                              : kUndefined;
  }
  bool contains(int endpoint) const { return find(endpoint) != kUndefined; }

 private:
  const Group& group_;
  std::vector<int> ranks_;  // by endpoint; empty when each rank is its endpoint's number
};

int find_rank(const Group& group, int endpoint) {
  const auto found = std::find(group.endpoints.begin(), group.endpoints.end(), endpoint);
  return found == group.endpoints.end() ? kUndefined : static_cast<int>(found - group.endpoints.begin());
}

/// A set of ranks of one group. That of a group of up to 64 takes no memory beside itself.
class RankMarks {
 public:
  explicit RankMarks(int group_size) {
    if (group_size > kInlineRanks) more_.assign(static_cast<std::size_t>(group_size), false);
  }
  bool contains(int rank) const {
    return more_.empty() ? (first_ >> rank & 1) != 0 : more_[static_cast<std::size_t>(rank)];
  }
  void add(int rank) {
    if (more_.empty())
      first_ |= std::uint64_t{1} << rank;
    else
      more_[static_cast<std::size_t>(rank)] = true;
  }

 private:
  static constexpr int kInlineRanks = 64;
  std::uint64_t first_ = 0;  // bit by rank
  std::vector<bool> more_;   // by rank; empty where the bits do
};

/// Puts the ranks of a list into `marked`, and refuses those that are not in the group or come twice.
Code mark_ranks(Process& process, const Group& group, int n, const int* ranks, RankMarks* marked) {
  if (n < 0) return process.fail(kErrArg, "n = %d, expected 0 or more", n);
  if (n > 0 && ranks == nullptr) return process.fail(kErrArg, "ranks is null, expected %d ranks", n);
  for (int index = 0; index < n; ++index) {
    const int rank = ranks[index];
    if (rank < 0 || rank >= group.size())
      return process.fail(kErrRank, "ranks[%d] = %d, expected 0..%d", index, rank, group.size() - 1);
    if (marked->contains(rank))
      return process.fail(kErrRank, "ranks[%d] = %d, which was in the list already", index, rank);
    marked->add(rank);
  }
  return kSuccess;
}

/// Writes out triplets (first, last, stride) as ranks.
Code expand_ranges(Process& process, const Group& group, int n, const int (*ranges)[3],
                   std::vector<int>* ranks) {
  if (n < 0) return process.fail(kErrArg, "n = %d, expected 0 or more", n);
  if (n > 0 && ranges == nullptr) return process.fail(kErrArg, "ranges is null, expected %d triplets", n);
  const int size = group.size();
  for (int index = 0; index < n; ++index) {
    const auto& [first, last, stride] = ranges[index];
    if (first < 0 || first >= size)
      return process.fail(kErrRank, "ranges[%d] starts at %d, expected 0..%d", index, first, size - 1);
    if (last < 0 || last >= size)
      return process.fail(kErrRank, "ranges[%d] ends at %d, expected 0..%d", index, last, size - 1);
    if (stride == 0) return process.fail(kErrArg, "ranges[%d] has stride 0, expected another", index);
    if (first != last && (first < last) != (stride > 0))
      return process.fail(kErrArg, "ranges[%d] = (%d, %d, %d): the stride leads away from the end", index,
                          first, last, stride);
    const std::int64_t steps = (static_cast<std::int64_t>(last) - first) / stride;
    if (static_cast<std::int64_t>(ranks->size()) + steps >= size)
      return process.fail(kErrRank, "ranges[%d] makes more than %d ranks, so some come twice", index, size);
    if (ranks->empty()) ranks->reserve(static_cast<std::size_t>(steps) + 1);
    for (std::int64_t step = 0; step <= steps; ++step)
      ranks->push_back(static_cast<int>(first + step * stride));
  }
  return kSuccess;
}

std::vector<int> unmarked_endpoints(const Group& group, const RankMarks& marked) {
  std::vector<int> endpoints;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (!marked.contains(rank)) endpoints.push_back(group.endpoints[static_cast<std::size_t>(rank)]);
  }
  return endpoints;
}

/// A group whose processes are taken from `base` and that belongs to the same session.
Group* derive_group(Process& process, const Group& base, std::vector<int> endpoints) {
  Group* group = make_group(process, std::move(endpoints));
  if (group->predefined == 0) group->session = base.session;
  return group;
}

/// The group of these ranks of `base`. They have been checked, and their endpoints take their places.
Group* derive_group_of_ranks(Process& process, const Group& base, std::vector<int> ranks) {
  for (int& rank : ranks) rank = base.endpoints[static_cast<std::size_t>(rank)];
  return derive_group(process, base, std::move(ranks));
}

}  // namespace

Group* make_group(Process& process, std::vector<int> endpoints) {
  if (endpoints.empty()) return predefined_object<Group>(*process.objects, kMpiGroupEmpty);
  Group* group = new Group;
  group->endpoints = std::move(endpoints);
  group->rank = find_rank(*group, process.rank);
  return group;
}

Comparison compare_groups(const Group& group1, const Group& group2) {
  if (group1.size() != group2.size()) return Comparison::kUnequal;
  if (group1.endpoints == group2.endpoints) return Comparison::kIdent;
  const RankIndex index(group2);
  const bool same_members = std::all_of(group1.endpoints.begin(), group1.endpoints.end(),
                                        [&index](int endpoint) { return index.contains(endpoint); });
  return same_members ? Comparison::kSimilar : Comparison::kUnequal;
}

bool translate_group(const Group& group, const Group& into, std::vector<int>* ranks) {
  const RankIndex index(into);
  ranks->clear();
  ranks->reserve(group.endpoints.size());
  for (const int endpoint : group.endpoints) ranks->push_back(index.find(endpoint));
  return std::find(ranks->begin(), ranks->end(), kUndefined) == ranks->end();
}

namespace api {

Code group_size(Process&, Group* group, int* size) {
  *size = group->size();
  return kSuccess;
}

Code group_rank(Process&, Group* group, int* rank) {
  *rank = group->rank;
  return kSuccess;
}

Code group_translate_ranks(Process& process, Group* group1, int n, const int* ranks1, Group* group2,
                           int* ranks2) {
  if (n < 0) return process.fail(kErrArg, "n = %d, expected 0 or more", n);
  if (n == 0) return kSuccess;
  if (ranks1 == nullptr || ranks2 == nullptr)
    return process.fail(kErrArg, "ranks1 or ranks2 is null, expected room for %d ranks", n);
  for (int index = 0; index < n; ++index) {
    if (ranks1[index] != kProcNull && (ranks1[index] < 0 || ranks1[index] >= group1->size()))
      return process.fail(kErrRank, "ranks1[%d] = %d, expected 0..%d or MPI_PROC_NULL", index, ranks1[index],
                          group1->size() - 1);
  }
  const auto translate_all = [&](auto&& find) {
    for (int index = 0; index < n; ++index) {
      const int rank = ranks1[index];
      ranks2[index] = rank == kProcNull ? kProcNull : find(group1->endpoints[static_cast<std::size_t>(rank)]);
    }
  };
  if (n == 1) {  // the usual call: no index is worth its while
    translate_all([group2](int endpoint) { return find_rank(*group2, endpoint); });
  } else {
    translate_all([index = RankIndex(*group2)](int endpoint) { return index.find(endpoint); });
  }
  return kSuccess;
}

Code group_compare(Process&, Group* group1, Group* group2, int* result) {
  *result = static_cast<int>(compare_groups(*group1, *group2));
  return kSuccess;
}

Code group_union(Process& process, Group* group1, Group* group2, Group** newgroup) {
  const RankIndex index(*group1);
  std::vector<int> endpoints = group1->endpoints;
  std::copy_if(group2->endpoints.begin(), group2->endpoints.end(), std::back_inserter(endpoints),
               [&index](int endpoint) { return !index.contains(endpoint); });
  *newgroup = derive_group(process, *group1, std::move(endpoints));
  return kSuccess;
}

Code group_intersection(Process& process, Group* group1, Group* group2, Group** newgroup) {
  const RankIndex index(*group2);
  std::vector<int> endpoints;
  std::copy_if(group1->endpoints.begin(), group1->endpoints.end(), std::back_inserter(endpoints),
               [&index](int endpoint) { return index.contains(endpoint); });
  *newgroup = derive_group(process, *group1, std::move(endpoints));
  return kSuccess;
}

Code group_difference(Process& process, Group* group1, Group* group2, Group** newgroup) {
  const RankIndex index(*group2);
  std::vector<int> endpoints;
  std::copy_if(group1->endpoints.begin(), group1->endpoints.end(), std::back_inserter(endpoints),
               [&index](int endpoint) { return !index.contains(endpoint); });
  *newgroup = derive_group(process, *group1, std::move(endpoints));
  return kSuccess;
}

Code group_incl(Process& process, Group* group, int n, const int* ranks, Group** newgroup) {
  RankMarks marked(group->size());
  if (const Code code = mark_ranks(process, *group, n, ranks, &marked)) return code;
  *newgroup = derive_group_of_ranks(process, *group, std::vector<int>(ranks, ranks + n));
  return kSuccess;
}

Code group_excl(Process& process, Group* group, int n, const int* ranks, Group** newgroup) {
  RankMarks marked(group->size());
  if (const Code code = mark_ranks(process, *group, n, ranks, &marked)) return code;
  *newgroup = derive_group(process, *group, unmarked_endpoints(*group, marked));
  return kSuccess;
}

Code group_range_incl(Process& process, Group* group, int n, const int (*ranges)[3], Group** newgroup) {
  std::vector<int> ranks;
  if (const Code code = expand_ranges(process, *group, n, ranges, &ranks)) return code;
  RankMarks marked(group->size());
  const int length = static_cast<int>(ranks.size());
  if (const Code code = mark_ranks(process, *group, length, ranks.data(), &marked)) return code;
  *newgroup = derive_group_of_ranks(process, *group, std::move(ranks));
  return kSuccess;
}

Code group_range_excl(Process& process, Group* group, int n, const int (*ranges)[3], Group** newgroup) {
  std::vector<int> ranks;
  if (const Code code = expand_ranges(process, *group, n, ranges, &ranks)) return code;
  return group_excl(process, group, static_cast<int>(ranks.size()), ranks.data(), newgroup);
}

Code group_free(Process&, Group** group) {
  if ((*group)->predefined == 0) release(*group);
  *group = nullptr;
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
