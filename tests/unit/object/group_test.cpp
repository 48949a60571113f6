// Shows the group operations against their definitions in MPI 7.3.2, their errors, and that they stay fast
// for many ranks.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "object/api.hpp"
#include "object/group.hpp"
#include "object/objects.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::run_ranks;
using List = std::vector<int>;

/// A body that runs in a world of one; its groups hold made-up endpoints.
void with_process(const std::function<void(Process&)>& body) {
  run_ranks(1, body);
}

/// A group that lasts as long as the test's scope.
struct Owned {
  Owned(Process& process, List endpoints) : group(make_group(process, std::move(endpoints))) {}
  explicit Owned(Group* made) : group(made) {}
  Owned(const Owned&) = delete;
  ~Owned() {
    if (group != nullptr && group->predefined == 0) release(group);
  }
  Group* operator->() const { return group; }
  Group* group;
};

using Binary = Code (*)(Process&, Group*, Group*, Group**);

List combine(Process& process, Binary operation, const List& a, const List& b) {
  const Owned first(process, a);
  const Owned second(process, b);
  Group* result = nullptr;
  EXPECT_EQ(operation(process, first.group, second.group, &result), kSuccess);
  const Owned owned(result);
  EXPECT_EQ(result == process.objects->predefined[kMpiGroupEmpty], result->size() == 0);
  return result->endpoints;
}

TEST(Group, SetOperationsKeepTheOrderOfTheFirst) {
  with_process([](Process& process) {
    const List a = {4, 1, 7};
    const List b = {7, 2, 4, 0};
    EXPECT_EQ(combine(process, api::group_union, a, b), (List{4, 1, 7, 2, 0}));
    EXPECT_EQ(combine(process, api::group_intersection, a, b), (List{4, 7}));
    EXPECT_EQ(combine(process, api::group_intersection, b, a), (List{7, 4}));
    EXPECT_EQ(combine(process, api::group_difference, a, b), (List{1}));
    EXPECT_EQ(combine(process, api::group_difference, a, a), List{});
    EXPECT_EQ(combine(process, api::group_union, {}, b), b);
    EXPECT_EQ(combine(process, api::group_union, {}, {}), List{});
    EXPECT_EQ(combine(process, api::group_intersection, a, {}), List{});
    EXPECT_EQ(combine(process, api::group_intersection, {0, 1, 2, 3}, {3, 1}), (List{1, 3}));
  });
}

TEST(Group, Compare) {
  with_process([](Process& process) {
    const auto compare = [&process](const List& a, const List& b) {
      return compare_groups(*Owned(process, a).group, *Owned(process, b).group);
    };
    EXPECT_EQ(compare({3, 1}, {3, 1}), Comparison::kIdent);
    EXPECT_EQ(compare({3, 1}, {1, 3}), Comparison::kSimilar);
    EXPECT_EQ(compare({3, 1}, {3, 2}), Comparison::kUnequal);
    EXPECT_EQ(compare({3, 1}, {3}), Comparison::kUnequal);
    EXPECT_EQ(compare({}, {}), Comparison::kIdent);
  });
}

TEST(Group, RankOfThisProcess) {
  run_ranks(3, [](Process& process) {
    const Owned all(process, {2, 0, 1});
    int rank = -1;
    EXPECT_EQ(api::group_rank(process, all.group, &rank), kSuccess);
    EXPECT_EQ(all->endpoints[static_cast<std::size_t>(rank)], process.rank);
    const Owned one(process, {1});
    EXPECT_EQ(one->rank, process.rank == 1 ? 0 : kUndefined);
    int size = -1;
    EXPECT_EQ(api::group_size(process, one.group, &size), kSuccess);
    EXPECT_EQ(size, 1);
  });
}

TEST(Group, InclAndExcl) {
  with_process([](Process& process) {
    const Owned group(process, {10, 11, 12, 13, 14});
    const int some[] = {4, 0, 2};
    Group* made = nullptr;
    ASSERT_EQ(api::group_incl(process, group.group, 3, some, &made), kSuccess);
    EXPECT_EQ(Owned(made)->endpoints, (List{14, 10, 12}));
    ASSERT_EQ(api::group_excl(process, group.group, 3, some, &made), kSuccess);
    EXPECT_EQ(Owned(made)->endpoints, (List{11, 13}));
    ASSERT_EQ(api::group_incl(process, group.group, 0, nullptr, &made), kSuccess);
    EXPECT_EQ(made->predefined, kMpiGroupEmpty);
    EXPECT_EQ(api::group_free(process, &made), kSuccess);
    EXPECT_EQ(made, nullptr);

    const int twice[] = {1, 3, 1};
    const int outside[] = {1, 5};
    for (const auto operation : {api::group_incl, api::group_excl}) {
      made = nullptr;
      Code code = operation(process, group.group, 3, twice, &made);
      EXPECT_EQ(error_class_bits(code), kErrRank);
      EXPECT_EQ(process.errors.text(code), "ranks[2] = 1, which was in the list already");
      code = operation(process, group.group, 2, outside, &made);
      EXPECT_EQ(process.errors.text(code), "ranks[1] = 5, expected 0..4");
      EXPECT_EQ(error_class_bits(operation(process, group.group, -1, outside, &made)), kErrArg);
      EXPECT_EQ(error_class_bits(operation(process, group.group, 1, nullptr, &made)), kErrArg);
      EXPECT_EQ(made, nullptr);
    }
  });
}

TEST(Group, InclAndExclOfMoreRanksThanAWordHasBits) {
  for (const int size : {63, 64, 65, 200}) {
    with_process([size](Process& process) {
      List endpoints(static_cast<std::size_t>(size));
      std::iota(endpoints.begin(), endpoints.end(), 1000);
      const Owned group(process, endpoints);
      const int some[] = {size - 1, 0, 62};
      Group* made = nullptr;
      ASSERT_EQ(api::group_incl(process, group.group, size == 63 ? 2 : 3, some, &made), kSuccess);
      EXPECT_EQ(Owned(made)->endpoints, size == 63 ? (List{1062, 1000}) : (List{999 + size, 1000, 1062}));
      ASSERT_EQ(api::group_excl(process, group.group, 2, some, &made), kSuccess);
      EXPECT_EQ(Owned(made)->endpoints, List(endpoints.begin() + 1, endpoints.end() - 1));
      const int twice[] = {size - 1, 0, size - 1};
      EXPECT_EQ(error_class_bits(api::group_incl(process, group.group, 3, twice, &made)), kErrRank);
      const int halves[][3] = {{0, size / 2, 1}, {size / 2 + 1, size - 1, 1}};
      ASSERT_EQ(api::group_range_incl(process, group.group, 2, halves, &made), kSuccess);
      EXPECT_EQ(Owned(made)->endpoints, endpoints);
      const int overlapping[][3] = {{size - 1, size - 1, 1}, {size - 2, size - 1, 1}};
      EXPECT_EQ(error_class_bits(api::group_range_incl(process, group.group, 2, overlapping, &made)),
                kErrRank);
    });
  }
}

TEST(Group, Ranges) {
  with_process([](Process& process) {
    List ten(10);
    std::iota(ten.begin(), ten.end(), 100);
    const Owned group(process, ten);
    const int ranges[][3] = {{6, 7, 1}, {1, 6, 2}, {9, 8, -1}};  // 6 7, 1 3 5, 9 8
    Group* made = nullptr;
    ASSERT_EQ(api::group_range_incl(process, group.group, 3, ranges, &made), kSuccess);
    EXPECT_EQ(Owned(made)->endpoints, (List{106, 107, 101, 103, 105, 109, 108}));
    ASSERT_EQ(api::group_range_excl(process, group.group, 3, ranges, &made), kSuccess);
    EXPECT_EQ(Owned(made)->endpoints, (List{100, 102, 104}));
    const int single[][3] = {{4, 4, -3}};
    ASSERT_EQ(api::group_range_incl(process, group.group, 1, single, &made), kSuccess);
    EXPECT_EQ(Owned(made)->endpoints, (List{104}));

    struct Wrong {
      int range[3];
      int error_class;
    };
    const Wrong wrongs[] = {{{0, 5, 0}, kErrArg},   {{0, 5, -1}, kErrArg}, {{0, 10, 1}, kErrRank},
                            {{-1, 5, 1}, kErrRank}, {{5, 0, 1}, kErrArg},  {{5, -1, -1}, kErrRank}};
    for (const Wrong& wrong : wrongs) {
      EXPECT_EQ(error_class_bits(api::group_range_incl(process, group.group, 1, &wrong.range, &made)),
                wrong.error_class)
          << wrong.range[0] << " " << wrong.range[1] << " " << wrong.range[2];
    }
    const int overlapping[][3] = {{0, 4, 1}, {4, 6, 1}};
    EXPECT_EQ(error_class_bits(api::group_range_excl(process, group.group, 2, overlapping, &made)), kErrRank);
    const int repeated[][3] = {{0, 9, 1}, {0, 9, 1}};
    EXPECT_EQ(error_class_bits(api::group_range_incl(process, group.group, 2, repeated, &made)), kErrRank);
  });
}

TEST(Group, TranslateRanks) {
  with_process([](Process& process) {
    const Owned from(process, {5, 9, 2});
    const Owned to(process, {2, 5});
    const int ranks[] = {0, 2, 1, kProcNull, 0};
    int result[5] = {};
    ASSERT_EQ(api::group_translate_ranks(process, from.group, 5, ranks, to.group, result), kSuccess);
    EXPECT_EQ(List(result, result + 5), (List{1, 0, kUndefined, kProcNull, 1}));
    ASSERT_EQ(api::group_translate_ranks(process, from.group, 1, ranks + 1, to.group, result), kSuccess);
    EXPECT_EQ(result[0], 0);
    const int wrong[] = {0, 3};
    const Code code = api::group_translate_ranks(process, from.group, 2, wrong, to.group, result);
    EXPECT_EQ(process.errors.text(code), "ranks1[1] = 3, expected 0..2 or MPI_PROC_NULL");
  });
}

TEST(Group, StaysLinear) {
  with_process([](Process& process) {
    // A million ranks, all out of order: with quadratic work the test would reach ctest's time limit.
    constexpr int kRanks = 1'000'000;
    List backwards(kRanks);
    for (int i = 0; i < kRanks; ++i) backwards[static_cast<std::size_t>(i)] = kRanks - 1 - i;
    List forwards(backwards.rbegin(), backwards.rend());
    const Owned a(process, backwards);
    const Owned b(process, forwards);
    EXPECT_EQ(compare_groups(*a.group, *b.group), Comparison::kSimilar);
    EXPECT_EQ(combine(process, api::group_union, backwards, forwards), backwards);
    EXPECT_EQ(combine(process, api::group_difference, forwards, backwards), List{});
    List result(kRanks);
    ASSERT_EQ(api::group_translate_ranks(process, a.group, kRanks, forwards.data(), b.group, result.data()),
              kSuccess);
    EXPECT_EQ(result, backwards);
  });
}

}  // namespace
}  // namespace tasuki
