// A rank that waits answers a question: with its call, what is open, and what no receive has taken.
#include "board/rank_reporter.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/calls/function.hpp"
#include "p2p/partitioned/api.hpp"
#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

using std::chrono::milliseconds;

/// What the entry of a call writes.
void write_line(Rank& on, Function function, int peer, int tag, Count count) {
  CallLine& line = on.process.board.line;
  const auto number = static_cast<std::uint64_t>(function);
  line.word.store(std::uint64_t{7} << 16 | kInside | number, std::memory_order_relaxed);
  line.comm.store(reinterpret_cast<std::uint64_t>(on.world), std::memory_order_relaxed);
  line.peer.store(peer, std::memory_order_relaxed);
  line.tag.store(tag, std::memory_order_relaxed);
  line.count.store(count, std::memory_order_relaxed);
  line.type.store(reinterpret_cast<std::uint64_t>(on.byte), std::memory_order_relaxed);
}

TEST(RankReporter, TellsWhatIsOpenAndWhatNobodyReceived) {
  run_ranks(2, [](Process& process) {
    Rank on(process);
    Bytes data(4), more(9), unwanted(12);
    if (on.rank == 0) {
      EXPECT_EQ(on.send(unwanted, 1, 6), 0);
      EXPECT_EQ(on.send(data, 1, 7), 0);
      EXPECT_EQ(on.recv(data, 1, 8), 0);
      EXPECT_EQ(on.send(more, 1, 5), 0);
      return;
    }
    Request* request = on.irecv(more, 0, 5);
    EXPECT_EQ(on.recv(data, 0, 7), 0);
    const RankReport report = report_of(process, 1);
    EXPECT_EQ(report.open_total, 1U);
    EXPECT_EQ(report.open[0].kind, OpenKind::kReceive);
    EXPECT_EQ(report.open[0].peer, 0);
    EXPECT_EQ(report.open[0].tag, 5);
    EXPECT_EQ(report.open[0].bytes, 9);
    EXPECT_STREQ(report.open[0].comm_name, "MPI_COMM_WORLD");
    EXPECT_EQ(report.open[0].is_awaited, 0);
    EXPECT_EQ(report.unexpected_total, 1U);
    EXPECT_EQ(report.unexpected[0].peer, 0);
    EXPECT_EQ(report.unexpected[0].tag, 6);
    EXPECT_EQ(report.unexpected[0].bytes, 12);
    EXPECT_EQ(report.unexpected[0].context, report.open[0].context);
    EXPECT_EQ(on.send(data, 0, 8), 0);
    on.wait(request);
    EXPECT_EQ(on.recv(unwanted, 0, 6), 0);
  });
}

TEST(RankReporter, TellsWhatPartitionedMessagesWaitFor) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    Bytes in(8), out(8);
    Request* receive = nullptr;
    Request* send = nullptr;
    const auto expect_first = [&](OpenKind kind) {
      process.progress->poll();
      const RankReport report = report_of(process, 1);
      EXPECT_EQ(report.open[0].kind, kind);
      EXPECT_EQ(report.open[0].peer, 0);
      EXPECT_EQ(report.open[0].tag, 5);
      EXPECT_EQ(report.open[0].bytes, 8);
    };
    EXPECT_EQ(api::precv_init(process, in.data(), 2, 4, on.byte, 0, 5, on.world, nullptr, &receive), 0);
    EXPECT_EQ(report_of(process, 1).open_total, 0U);
    EXPECT_EQ(api::start(process, &receive), 0);
    expect_first(OpenKind::kPartitionedUnmatched);
    EXPECT_EQ(api::psend_init(process, out.data(), 2, 4, on.byte, 0, 5, on.world, nullptr, &send), 0);
    expect_first(OpenKind::kPartitionedReceive);
    EXPECT_EQ(api::start(process, &send), 0);
    expect_first(OpenKind::kPartitionedUnready);
    EXPECT_EQ(report_of(process, 1).open_total, 2U);
    EXPECT_EQ(api::pready_range(process, 0, 1, send), 0);
    EXPECT_EQ(on.wait(send), 0);
    EXPECT_EQ(on.wait(receive), 0);
    EXPECT_EQ(report_of(process, 1).open_total, 0U);
    EXPECT_EQ(api::request_free(process, &send), 0);
    EXPECT_EQ(api::request_free(process, &receive), 0);
  });
}

TEST(RankReporter, AnswersWhileItWaits) {
  std::atomic<CallBoard*> waiting{nullptr};
  run_ranks(2, [&](Process& process) {
    Rank on(process);
    Bytes data(16);
    if (on.rank == 1) {
      write_line(on, Function::kRecv, 0, 3, 16);
      waiting = &process.board;
      EXPECT_EQ(on.recv(data, 0, 3), 0);
      process.board.line.word.store(0, std::memory_order_relaxed);
      return;
    }
    while (waiting == nullptr) std::this_thread::sleep_for(milliseconds(1));
    RankReport report;
    for (std::uint64_t asked = 1; asked <= 2; ++asked) {
      waiting.load()->asked.store(asked);
      while (!read_report(*waiting, &report) || report.answers != asked)
        std::this_thread::sleep_for(milliseconds(1));
      EXPECT_EQ(static_cast<Function>(report.word & (kInside - 1)), Function::kRecv);
      EXPECT_EQ(report.awaits, Awaits::kAll);
      EXPECT_EQ(report.peer, 0);
      EXPECT_EQ(report.root, kNobody);
      EXPECT_EQ(report.tag, 3);
      EXPECT_EQ(report.bytes, 16);
      EXPECT_STREQ(report.type_name, "MPI_BYTE");
      EXPECT_EQ(report.members.words[0], 3U);
      EXPECT_EQ(report.comm_index, 0);
      EXPECT_STREQ(report.comms[0].name, "MPI_COMM_WORLD");
      EXPECT_EQ(report.comms[0].size, 2);
    }
    EXPECT_EQ(on.send(data, 1, 3), 0);
  });
}

TEST(RankReporter, LooksAtNoObjectThatIsGone) {
  run_ranks(1, [](Process& process) {
    Rank on(process);
    write_line(on, Function::kBarrier, 0, 0, 0);
    process.board.line.comm.store(0x1000, std::memory_order_relaxed);
    const RankReport report = report_of(process, 1);
    EXPECT_EQ(report.comm_index, -1);
    EXPECT_EQ(report.collective, 0U);
    process.board.line.word.store(0, std::memory_order_relaxed);
  });
}

}  // namespace
}  // namespace tasuki::test
