// mpiexec --stats: what the table and the JSON make of what ranks reported.
#include "launch/report/statistics_table.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

RankStatistics rank(const char* name) {
  RankStatistics one{.name = name, .started = true, .counts = {}};
  one.counts.running_ns = 2'000'000'000;
  one.counts.finished = 1;
  return one;
}

/// Two ranks: 3,000 short messages of 8 bytes, and a MiB that was written, another one that came too early.
JobStatistics example() {
  JobStatistics job;
  RankStatistics sender = rank("0");
  sender.counts.ways[static_cast<int>(Way::kShort)].sent = {3000, 24000};
  sender.counts.ways[static_cast<int>(Way::kSenderWrite)].sent = {1, 1 << 20};
  sender.counts.ways[static_cast<int>(Way::kGet)].sent = {1, 1 << 20};
  RankStatistics receiver = rank("1");
  receiver.counts.running_ns = 1'000'000'000;
  receiver.counts.ways[static_cast<int>(Way::kShort)].received = {3000, 24000};
  receiver.counts.ways[static_cast<int>(Way::kShort)].message_first = {1500, 12000};
  receiver.counts.ways[static_cast<int>(Way::kSenderWrite)].received = {1, 1 << 20};
  receiver.counts.ways[static_cast<int>(Way::kGet)].received = {1, 1 << 20};
  receiver.counts.ways[static_cast<int>(Way::kGet)].message_first = {1, 1 << 20};
  receiver.counts.asleep_ns = 500'000'000;
  job.add(sender);
  job.add(receiver);
  return job;
}

/// The line that begins with this word.
std::string row(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    if (words >> first && first == word) return line;
  }
  return "";
}

TEST(Statistics, TheTableHasARowForEachWayThatWasUsed) {
  const std::string text = statistics_text(StatisticsForm::kTable, example(), false);
  EXPECT_TRUE(has(text, "messages of 2 ranks in 2 s")) << text;
  EXPECT_TRUE(has(row(text, "short"), "3,000")) << text;
  EXPECT_TRUE(has(row(text, "short"), "1,500")) << "per second: " << text;
  EXPECT_TRUE(has(row(text, "short"), "50.0 %")) << text;
  EXPECT_TRUE(has(row(text, "sender-write"), "512 KiB/s")) << text;
  EXPECT_TRUE(has(row(text, "sender-write"), "100.0 %")) << text;
  EXPECT_TRUE(has(row(text, "get"), "0.0 %")) << text;
  EXPECT_EQ(row(text, "eager"), "") << text;
  EXPECT_TRUE(has(row(text, "all"), "3,002")) << text;
  EXPECT_TRUE(has(text, "1,501 messages, 50.0 % of the bytes")) << text;
  EXPECT_TRUE(has(text, "12.5 % of the time")) << text;
  EXPECT_FALSE(has(text, "ended without")) << text;
  EXPECT_FALSE(has(text, "\033")) << text;
}

TEST(Statistics, NoLineIsLongerThanATerminal) {
  JobStatistics job = example();
  job.ranks[0].counts.ways[static_cast<int>(Way::kCooperative)].sent = {999'999'999, std::uint64_t{1} << 62};
  job.ranks[1].counts.finished = 0;
  for (int more = 0; more < 40; ++more) job.add({.name = "2." + std::to_string(more), .counts = {}});
  job.ranks[0].counts.ways[0].received.messages = job.ranks[0].counts.ways[0].message_first.messages =
      1'000'000'000;
  job.ranks[0].counts.unexpected_bytes_highest = 1'048'000;
  job.ranks[0].counts.sends_set_aside = 1'000'000'000;
  job.ranks[0].counts.line_changes = job.ranks[0].counts.ranks_of_far_lines = 1'000'000'000;
  std::istringstream lines(statistics_text(StatisticsForm::kRanks, job, false));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(Statistics, RanksThatDidNotFinishAreNamed) {
  JobStatistics job = example();
  job.ranks[1].counts.finished = 0;
  job.add({.name = "1.0", .counts = {}});
  const std::string text = statistics_text(StatisticsForm::kTable, job, false);
  EXPECT_TRUE(has(text, "(rank 1 ended without MPI_Finalize")) << text;
  EXPECT_TRUE(has(text, "(rank 1.0 did not use MPI")) << text;
  EXPECT_TRUE(has(text, "messages of 2 ranks")) << text;
}

TEST(Statistics, WhatWasSetAsideIsToldWhereAnythingWas) {
  JobStatistics job = example();
  EXPECT_FALSE(has(statistics_text(StatisticsForm::kTable, job, false), "set aside"));
  job.ranks[0].counts.sends_set_aside = 1;
  EXPECT_TRUE(has(statistics_text(StatisticsForm::kTable, job, false), "1 blocking send whose"));
  EXPECT_TRUE(has(statistics_text(StatisticsForm::kJson, job, false), "\"sends_set_aside\": 1"));
}

TEST(Statistics, HowFarLinesTravelIsToldWhereItWasFoundOut) {
  JobStatistics job = example();
  EXPECT_FALSE(has(statistics_text(StatisticsForm::kTable, job, false), "cache lines"));
  job.ranks[0].counts.line_changes = 3;
  job.ranks[0].counts.ranks_of_far_lines = 1;
  EXPECT_TRUE(has(statistics_text(StatisticsForm::kTable, job, false), "in 1 direction, 3 changes"));
  EXPECT_TRUE(has(statistics_text(StatisticsForm::kJson, job, false), "\"line_changes\": 3"));
  EXPECT_TRUE(has(statistics_text(StatisticsForm::kJson, job, false), "\"ranks_of_far_lines\": 1"));
}

TEST(Statistics, RanksBeyondThoseListedAreCountedToo) {
  JobStatistics job;
  for (std::size_t i = 0; i < JobStatistics::kRanksListed + 5; ++i) {
    RankStatistics one = rank("0");
    one.counts.ways[0].sent = {1, 8};
    job.add(one);
  }
  EXPECT_EQ(job.ranks.size(), JobStatistics::kRanksListed);
  const std::string text = statistics_text(StatisticsForm::kTable, job, false);
  EXPECT_TRUE(has(text, "messages of 4,101 ranks")) << text;
  EXPECT_TRUE(has(row(text, "all"), "4,101")) << text;
}

TEST(Statistics, BytesHaveThreeDigits) {
  EXPECT_EQ(byte_text(0.0), "0 B");
  EXPECT_EQ(byte_text(1023.0), "1023 B");
  EXPECT_EQ(byte_text(1024.0), "1.00 KiB");
  EXPECT_EQ(byte_text(1048000.0), "1023 KiB");
  EXPECT_EQ(byte_text(1048570.0), "1.00 MiB");
  EXPECT_EQ(byte_text(99.94 * 1024), "99.9 KiB");
}

TEST(Statistics, AReportGoesThroughSharedMemoryWhole) {
  Counters counters;
  counters.count_sent(Way::kPut, 77);
  counters.count_received(Way::kGet, 5, true);
  counters.unexpected_bytes.add(9);
  counters.unexpected_bytes.subtract(9);
  RunStatistics shared;
  store(statistics_of(counters), &shared);
  const RunStatistics read = load(shared);
  EXPECT_EQ(read.of(Way::kPut).sent.bytes, 77u);
  EXPECT_EQ(read.of(Way::kGet).message_first.messages, 1u);
  EXPECT_EQ(read.all().received.messages, 1u);
  EXPECT_EQ(read.unexpected_bytes_highest, 9u);
}

}  // namespace
}  // namespace tasuki::launch
