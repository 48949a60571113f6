// The table of mpiexec --top: what follows from looks, and how it fits where there is little room.
#include "launch/top/top_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tasuki::launch {
namespace {

using State = TopRow::State;
using Place = RankLook::Place;

constexpr std::int64_t kSecond = 1'000'000'000;

TopRow row_of(int rank, State state, const std::string& function = "", const std::string& arguments = "") {
  TopRow row;
  row.name = std::to_string(rank);
  row.state = state;
  row.function = function;
  row.call = function + (arguments.empty() ? "" : " (" + arguments + ")");
  return row;
}

TopTable table_of(int ranks, State state = State::kInside) {
  TopTable table{.title = "ring, " + std::to_string(ranks) + " ranks"};
  for (int rank = 0; rank < ranks; ++rank) {
    table.rows.push_back(row_of(rank, state, state == State::kInside ? "MPI_Recv" : "", ""));
    table.rows.back().mpi_share = 0.5;
    table.rows.back().interval = 1;
    table.rows.back().ways[0].sent = {1000, 8000};
    table.rows.back().ways[0].received = {500, 4000};
  }
  return table;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TopHistory, SharesOfTimeFollowTheLooks) {
  TopHistory history;
  TopRow row;
  for (int look = 0; look < 400; ++look) {  // every third of them inside
    history.look({look % 3 == 0 ? Place::kInside : Place::kOutside, static_cast<std::uint64_t>(look), 0},
                 1 + look * kSecond / 20);
  }
  history.describe(400 * kSecond / 20, &row);
  EXPECT_NEAR(row.mpi_share, 1.0 / 3, 0.05);
  for (int look = 400; look < 800; ++look) {
    history.look({Place::kInside, 1000, 0}, 1 + look * kSecond / 20);
  }
  history.describe(800 * kSecond / 20, &row);
  EXPECT_GT(row.mpi_share, 0.99);
  EXPECT_NEAR(row.seconds, 20, 0.1);
}

TEST(TopHistory, WhatNeitherEndsNorMovesWaits) {
  TopHistory history;
  TopRow row;
  row.state = State::kInside;
  history.look({Place::kInside, 7, 1}, kSecond);
  history.describe(kSecond, &row);
  EXPECT_EQ(row.state, State::kInside);
  history.look({Place::kInside, 7, 1}, 3 * kSecond);
  history.describe(3 * kSecond, &row);
  EXPECT_EQ(row.state, State::kWaits);
  EXPECT_DOUBLE_EQ(row.seconds, 2);

  history.look({Place::kInside, 7, 2}, 4 * kSecond);  // the same call, but its bytes come
  row.state = State::kInside;
  history.describe(4 * kSecond, &row);
  EXPECT_EQ(row.state, State::kInside);
  EXPECT_DOUBLE_EQ(row.seconds, 3);
}

TEST(TopHistory, RatesAreThoseOfTheLastSecond) {
  TopHistory history;
  TopRow row;
  RunStatistics counts;
  counts.running_ns = 1;
  for (int half = 0; half <= 20; ++half) {
    history.count(counts, kSecond + half * kSecond / 2);
    counts.ways[1].sent.messages += half < 10 ? 1000 : 50;
    counts.ways[1].sent.bytes += half < 10 ? 1'000'000 : 100;
    counts.sleeps += 3;
  }
  history.describe(20 * kSecond, &row);
  ASSERT_TRUE(row.counted);
  EXPECT_DOUBLE_EQ(row.interval, 1);
  EXPECT_EQ(row.traffic().sent.messages, 100u);
  EXPECT_EQ(row.traffic().sent.bytes, 200u);
  EXPECT_DOUBLE_EQ(row.sleeps, 6);
}

TEST(TopHistory, CountsThatGoBackAreNoRates) {
  TopHistory history;
  TopRow row;
  RunStatistics counts;
  counts.running_ns = 1;
  counts.ways[0].sent = {1000, 1000};
  counts.sleeps = 5;
  history.count(counts, kSecond);
  history.count(RunStatistics{.running_ns = 1}, 2 * kSecond);
  history.describe(2 * kSecond, &row);
  EXPECT_EQ(row.traffic().sent.messages, 0u);
  EXPECT_DOUBLE_EQ(row.sleeps, 0);
}

TEST(TopLines, EachRankHasALine) {
  TopTable table = table_of(2);
  table.rows[0].state = State::kWaits;
  table.rows[0].seconds = 3.2;
  table.rows[0].call = "MPI_Recv (source 1, tag 7)";
  table.rows[1].state = State::kComputes;
  table.rows[1].function = "";
  table.rows[1].ways[static_cast<int>(Way::kGet)].sent = {100, 72'000};
  const std::vector<std::string> lines = top_lines(table, 200, 50, false);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], "ring, 2 ranks");
  EXPECT_TRUE(has(lines[1], "rank") && has(lines[1], "state") && has(lines[1], "sleeps/s"));
  EXPECT_TRUE(has(lines[2], "0     waits in MPI_Recv (source 1, tag 7)")) << lines[2];
  EXPECT_TRUE(has(lines[2], "3.2 s") && has(lines[2], "50 %") && has(lines[2], "1.00 k")) << lines[2];
  EXPECT_TRUE(has(lines[2], "short 100")) << lines[2];
  EXPECT_TRUE(has(lines[3], "computes") && has(lines[3], "get 90, short 10")) << lines[3];
  EXPECT_TRUE(has(lines[4], "1 computes, 1 waits") && has(lines[4], "2.10 k")) << lines[4];
  EXPECT_TRUE(has(lines[4], "85.9 KiB")) << lines[4];
}

TEST(TopLines, HeadingsStandOverTheirColumns) {
  TopTable table = table_of(1);
  table.rows[0].ways[0].sent = {77, 0};
  const std::vector<std::string> lines = top_lines(table, 120, 10, false);
  const std::size_t heading = lines[1].find("sent/s");
  ASSERT_NE(heading, std::string::npos);
  EXPECT_EQ(lines[2].find(" 77 ") + 3, heading + 6) << joined(lines);
}

TEST(TopLines, BoldHeadingsTakeNoColumns) {
  const std::vector<std::string> plain = top_lines(table_of(3), 100, 10, false);
  const std::vector<std::string> bold = top_lines(table_of(3), 100, 10, true);
  EXPECT_EQ(bold[1], "\033[1m" + plain[1] + "\033[0m");
  EXPECT_EQ(bold[2], plain[2]);
}

TEST(TopLines, WhereItIsNarrowTheLastColumnsGo) {
  const std::string wide = top_lines(table_of(2), 130, 10, false)[1];
  const std::string usual = top_lines(table_of(2), 80, 10, false)[1];
  const std::string narrow = top_lines(table_of(2), 40, 10, false)[1];
  EXPECT_TRUE(has(wide, "sleeps/s"));
  EXPECT_FALSE(has(usual, "sleeps/s"));
  EXPECT_TRUE(has(usual, "sent/s") && has(usual, "MPI") && has(usual, "bytes/s")) << usual;
  EXPECT_TRUE(has(narrow, "rank") && has(narrow, "state"));
  EXPECT_FALSE(has(narrow, "bytes/s"));
}

TEST(TopLines, ManyRanksAreGrouped) {
  TopTable table = table_of(64);
  for (int rank = 10; rank < 20; ++rank) {
    table.rows[static_cast<std::size_t>(rank)] = row_of(rank, State::kComputes);
  }
  const std::vector<std::string> lines = top_lines(table, 100, 24, false);
  ASSERT_EQ(lines.size(), 5u) << joined(lines);
  EXPECT_TRUE(has(lines[2], "0-9, 20-63  in MPI_Recv")) << lines[2];
  EXPECT_TRUE(has(lines[2], "54.0 k")) << lines[2];
  EXPECT_TRUE(has(lines[3], "10-19       computes")) << lines[3];
  EXPECT_TRUE(has(lines[4], "10 compute, 54 in MPI")) << lines[4];
}

TEST(TopLines, GroupsThatDoNotFitAreCounted) {
  TopTable table;
  for (int rank = 0; rank < 60; ++rank) {
    table.rows.push_back(row_of(rank, State::kInside, "MPI_Function_" + std::to_string(rank % 20)));
  }
  const std::vector<std::string> lines = top_lines(table, 100, 10, false);
  ASSERT_EQ(lines.size(), 10u) << joined(lines);
  EXPECT_EQ(lines[8], "and 42 more");
  EXPECT_TRUE(has(lines[9], "60 in MPI"));
}

TEST(TopLines, KeepToWidthAndHeight) {
  std::mt19937 random(1);
  const auto below = [&random](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  for (int round = 0; round < 500; ++round) {
    TopTable table{.title = std::string(static_cast<std::size_t>(below(200)), 't')};
    const int ranks = below(80);
    for (int rank = 0; rank < ranks; ++rank) {
      TopRow row = row_of(rank * (1 + below(1000)), static_cast<State>(below(7)),
                          "MPI_" + std::string(static_cast<std::size_t>(below(40)), 'F'),
                          std::string(static_cast<std::size_t>(below(60)), 'a'));
      row.seconds = below(2) == 0 ? below(1'000'000) : below(100) * 0.1;
      row.mpi_share = below(11) * 0.1;
      row.interval = below(3);
      row.ways[below(kWays)].sent = {random() * (1ULL << below(30)), random() * (1ULL << below(30))};
      row.ways[below(kWays)].received = {random(), random() * (1ULL << below(30))};
      row.sleeps = below(1'000'000);
      table.rows.push_back(row);
    }
    const int width = 1 + below(250);
    const int height = below(40);
    const std::vector<std::string> lines = top_lines(table, width, height, false);
    ASSERT_LE(static_cast<int>(lines.size()), height);
    for (const std::string& line : lines) ASSERT_LE(static_cast<int>(line.size()), width) << line;
    if (height >= ranks + 3) {
      ASSERT_EQ(static_cast<int>(lines.size()), ranks + 3);
    }
  }
}

TEST(TopLines, NothingIsSaidOfWhatIsNotKnown) {
  TopTable table{.title = "job"};
  table.rows.push_back(row_of(0, State::kStarting));
  const std::vector<std::string> lines = top_lines(table, 120, 10, false);
  EXPECT_EQ(lines[2], "0     has not called MPI_Init              0 %");
}

TEST(TopSummary, IsOneLine) {
  TopTable table = table_of(4);
  table.rows[3].state = State::kComputes;
  table.rows[3].function = "";
  EXPECT_EQ(
      top_summary(table),
      "ring, 4 ranks: 1 computes, 3 in MPI (3 in MPI_Recv); in MPI 50 %; 4.00 k messages/s, 31.2 KiB/s; "
      "short 100 %");
}

TEST(ShortNumber, HasThreeDigits) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.25), "0.2");
  EXPECT_EQ(short_number(7.5), "7.5");
  EXPECT_EQ(short_number(42), "42");
  EXPECT_EQ(short_number(999), "999");
  EXPECT_EQ(short_number(999.6), "1.00 k");
  EXPECT_EQ(short_number(12345), "12.3 k");
  EXPECT_EQ(short_number(1.234e6), "1.23 M");
  EXPECT_EQ(short_number(7e15), "7000 T");
}

TEST(RankList, JoinsWhatFollows) {
  EXPECT_EQ(rank_list({}), "");
  EXPECT_EQ(rank_list({"5"}), "5");
  EXPECT_EQ(rank_list({"0", "1"}), "0, 1");
  EXPECT_EQ(rank_list({"0", "2", "3", "4", "9"}), "0, 2-4, 9");
  EXPECT_EQ(rank_list({"0", "1", "2", "1.0", "1.1", "1.2", "2.0"}), "0-2, 1.0-2, 2.0");
}

}  // namespace
}  // namespace tasuki::launch
