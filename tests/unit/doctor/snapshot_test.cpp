// Reading boards: what is there is taken over, what cannot be is not.
#include "doctor/snapshot.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "doctor/made_up.hpp"

namespace tasuki::doctor {
namespace {

TEST(ReadBoard, TakesTheLineAndAnAnswer) {
  const auto board = std::make_unique<CallBoard>();
  board->line.word.store(3u << 16 | kInside | static_cast<std::uint64_t>(Function::kRecv));
  board->line.peer.store(2);
  board->line.tag.store(9);
  MadeUp made(4);
  RankReport report = made.message(1, Function::kRecv, 2, 9);
  report.answers = 5;
  publish_report(report, board.get());
  RankState state;
  read_board(*board, 4, 5, &state);
  EXPECT_TRUE(state.line.inside);
  EXPECT_EQ(state.line.calls, 3u);
  EXPECT_EQ(state.line.function, Function::kRecv);
  ASSERT_TRUE(state.report.has_value());
  EXPECT_EQ(state.report->peer, 2);
  read_board(*board, 4, 6, &state);  // asked once more, and not answered yet
  EXPECT_FALSE(state.report.has_value());
}

TEST(ReadBoard, BelievesNothingThatCannotBe) {
  const auto board = std::make_unique<CallBoard>();
  board->line.word.store(kInside | 0x7fff);
  MadeUp made(4);
  RankReport report = made.message(1, Function::kRecv, 77, -5);
  report.comm_index = 40;
  report.comms_total = 0xffffffff;
  report.lacks.words[3] = ~std::uint64_t{0};
  report.awaits = static_cast<Awaits>(9);
  memset(report.type_name, 'x', sizeof report.type_name);
  report.op_name[0] = '\33';
  report.open[0].kind = static_cast<OpenKind>(200);
  publish_report(report, board.get());
  RankState state;
  read_board(*board, 4, 1, &state);
  EXPECT_FALSE(state.line.inside);
  EXPECT_EQ(state.line.function, Function::kNone);
  ASSERT_TRUE(state.report.has_value());
  EXPECT_EQ(state.report->peer, kNobody);
  EXPECT_EQ(state.report->comm_index, -1);
  EXPECT_EQ(state.report->lacks.words[3], 0u);
  EXPECT_EQ(state.report->awaits, Awaits::kNothing);
  EXPECT_EQ(strlen(state.report->type_name), sizeof state.report->type_name - 1);
  EXPECT_EQ(state.report->op_name[0], '?');
  EXPECT_EQ(state.report->open[0].kind, OpenKind::kNone);
}

TEST(ReadBoard, SurvivesRandomBytes) {
  std::mt19937_64 random(7);
  const auto board = std::make_unique<CallBoard>();
  for (int round = 0; round < 200; ++round) {
    const int size = 1 + static_cast<int>(random() % 5);
    Snapshot snapshot;
    snapshot.at_ns = static_cast<std::int64_t>(random());
    snapshot.worlds.resize(1);
    for (int rank = 0; rank < size; ++rank) {
      auto* const bytes = reinterpret_cast<unsigned char*>(board.get());
      const bool sparse = random() % 2 == 0;  // most bytes 0: more of it gets past the checks
      for (std::size_t i = 0; i < sizeof(CallBoard); ++i) {
        bytes[i] = static_cast<unsigned char>(sparse && random() % 8 != 0 ? 0 : random());
      }
      board->version.store(2);
      RankState state;
      state.life = Life::kRunning;
      state.pid = 1;
      read_board(*board, size, 0, &state);
      if (state.report && random() % 2 == 0) state.report->word |= kInside;
      for (const std::uint64_t address : addresses(state)) state.places[address].text = "a.c:1";
      snapshot.worlds[0].ranks.push_back(state);
    }
    Snapshot later = snapshot;
    for (RankState& state : later.worlds[0].ranks) {
      if (state.report) ++state.report->answers;
    }
    const Diagnosis found = diagnose(snapshot, later);
    EXPECT_FALSE(text(found).empty());
    EXPECT_EQ(json(found, later).back(), '}');
  }
}

}  // namespace
}  // namespace tasuki::doctor
