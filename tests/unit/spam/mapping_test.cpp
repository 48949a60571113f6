// Mappings: what users write, what each of them deals out, that "balanced" is the best there is, and that a
// new one takes one object.
#include "mapping.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "balance.hpp"
#include "error.hpp"

namespace spam {
namespace {

/// The last column to rank 0, all others to the last rank: all that a new mapping takes.
Owners crossed(const MappingRequest& request) {
  Owners owners(request.cost.size(), request.ranks - 1);
  owners.back() = 0;
  return owners;
}
const MappingKind crossed_kind("crossed", crossed, 0, "of this test");

Owners deal(const std::string& text, int ranks, std::size_t columns) {
  return parse_mapping(text)(ranks, std::vector<double>(columns, 1.0));
}

std::string refusal(const std::string& text, int ranks = 2, std::size_t columns = 5) {
  try {
    deal(text, ranks, columns);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

double costliest(const Owners& owners, int ranks, const std::vector<double>& cost) {
  std::vector<double> sums(static_cast<std::size_t>(ranks));
  for (std::size_t column = 0; column < cost.size(); ++column)
    sums[static_cast<std::size_t>(owners[column])] += cost[column];
  return *std::max_element(sums.begin(), sums.end());
}

/// The least that the costliest of `pieces` pieces can cost, by trying all last cuts.
double least_costliest(const std::vector<double>& cost, std::size_t columns, int pieces) {
  if (pieces == 1) return std::accumulate(cost.begin(), cost.begin() + static_cast<long>(columns), 0.0);
  double best = std::numeric_limits<double>::infinity(), last = 0;
  for (std::size_t cut = columns; cut-- > static_cast<std::size_t>(pieces) - 1;) {
    last += cost[cut];
    if (last >= best) break;
    best = std::min(best, std::max(last, least_costliest(cost, cut, pieces - 1)));
  }
  return best;
}

TEST(Mapping, FlatIsBlocks) {
  EXPECT_EQ(deal("flat", 3, 7), Owners({0, 0, 0, 1, 1, 2, 2}));
}

TEST(Mapping, CyclicDealsBlocksInTurn) {
  EXPECT_EQ(deal("cyclic(2)", 2, 8), Owners({0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(deal("cyclic(1)", 3, 6), deal("flat", 3, 6));
  EXPECT_EQ(deal("cyclic", 2, 16), deal("cyclic(4)", 2, 16));
}

TEST(Mapping, CyclicWithMoreBlocksThanColumnsDealsColumns) {
  EXPECT_EQ(deal("cyclic(1000000)", 2, 5), Owners({0, 1, 0, 1, 0}));
}

TEST(Mapping, EveryRankGetsColumns) {
  for (const char* text : {"flat", "cyclic(1)", "cyclic(2)", "cyclic(3)", "cyclic(7)", "balanced"})
    for (int ranks = 1; ranks <= 9; ++ranks)
      for (std::size_t columns = static_cast<std::size_t>(ranks); columns < 40; ++columns)
        EXPECT_EQ(refusal(text, ranks, columns), "") << text << " " << ranks << " " << columns;
}

TEST(Mapping, BalancedIsTheBestThereIs) {
  std::mt19937 random(1);
  const ChosenMapping balanced = parse_mapping("balanced");
  for (int round = 0; round < 200; ++round) {
    const int ranks = 1 + static_cast<int>(random() % 5);
    std::vector<double> cost(static_cast<std::size_t>(ranks) + random() % 12);
    for (double& of_column : cost)
      of_column = 1 + static_cast<double>(random() % (round % 2 == 0 ? 9 : 100000));
    const Owners owners = balanced(ranks, cost);
    EXPECT_TRUE(std::is_sorted(owners.begin(), owners.end()));
    EXPECT_EQ(costliest(owners, ranks, cost), least_costliest(cost, cost.size(), ranks)) << "round " << round;
  }
}

TEST(Mapping, BalancedIsEvenWhereTheCostliestColumnLeavesRoom) {
  EXPECT_EQ(parse_mapping("balanced")(3, std::vector<double>{9, 2, 2, 2, 2}), Owners({0, 1, 1, 2, 2}));
}

TEST(Mapping, ANewOneIsOneObject) {
  EXPECT_EQ(deal("crossed", 2, 3), Owners({1, 1, 0}));
  EXPECT_NE(mappings_help().find("crossed: of this test\n"), std::string::npos);
  EXPECT_EQ(refusal("crossed", 3, 4), "mapping \"crossed\" gave no column to rank 1 of 3");
}

TEST(Mapping, TellsWhatIsWrong) {
  EXPECT_EQ(refusal("cyclc"),
            "mapping \"cyclc\": there is no such mapping; there are balanced, crossed, cyclic(k), flat");
  EXPECT_NE(refusal("flat(2)").find("it takes no number"), std::string::npos);
  for (const char* text : {"cyclic()", "cyclic(", "cyclic(0)", "cyclic(-1)", "cyclic(2", "cyclic(2))",
                           "cyclic(2.5)", "cyclic(99999999999)"})
    EXPECT_NE(refusal(text).find("a positive number in brackets"), std::string::npos) << text;
  const std::string narrow = refusal("flat", 6, 5);
  for (const char* word : {"6 ranks", "5 columns", "space.width", "space.cell_size"})
    EXPECT_NE(narrow.find(word), std::string::npos) << narrow;
}

TEST(Balance, WithFewerColumnsThanPiecesTheLastAreEmpty) {
  const std::vector<double> before = {0, 3, 4};
  std::vector<int> ends(4);
  balanced_cuts(before, ends);
  EXPECT_EQ(ends, std::vector<int>({1, 2, 2, 2}));
}

}  // namespace
}  // namespace spam
