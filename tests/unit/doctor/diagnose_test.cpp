// Each finding from ranks that are made up; and what must not be found.
#include "doctor/diagnose.hpp"

#include <gtest/gtest.h>

#include <random>

#include "doctor/made_up.hpp"

namespace tasuki::doctor {
namespace {

constexpr int kSegmentationFault = 11;

MadeUp ring(int size, Function function, int step) {
  MadeUp made(size);
  for (int rank = 0; rank < size; ++rank) made.message(rank, function, (rank + step + size) % size, 7);
  return made;
}

TEST(Diagnose, FindsACircleOfReceivesAtAllSizes) {
  for (const int size : {2, 3, 4, 8, 64, 1024}) {
    const Diagnosis found = ring(size, Function::kRecv, 1).diagnosis();
    ASSERT_TRUE(found.certain_deadlock()) << size;
    const Finding* const finding = find(found, "deadlock-cycle");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(static_cast<int>(finding->ranks.size()), size);
    EXPECT_EQ(found.groups.size(), 1u);
    const std::string told = text(found);
    EXPECT_TRUE(
        has(told, "rank 0 waits for rank 1 in MPI_Recv (source 1, tag 7, MPI_COMM_WORLD) at ring.c:42"))
        << told;
    EXPECT_LT(told.size(), 3000u);
  }
}

TEST(Diagnose, TellsRanksThatDifferInTheirPeerTogether) {
  const std::string told = text(ring(8, Function::kRecv, 1).diagnosis());
  EXPECT_TRUE(has(told, "ranks 0-7  waiting 12 s in MPI_Recv (source rank + 1, tag 7, MPI_COMM_WORLD)"))
      << told;
  EXPECT_TRUE(has(text(ring(8, Function::kRecv, -1).diagnosis()), "source rank - 1")) << told;
}

TEST(Diagnose, IsCertainOfNothingAfterOneLook) {
  const MadeUp made = ring(4, Function::kRecv, 1);
  const Diagnosis found = diagnose(made.snapshot);
  EXPECT_FALSE(found.certain_deadlock());
  ASSERT_NE(find(found, "deadlock-cycle"), nullptr);
  EXPECT_FALSE(find(found, "deadlock-cycle")->certain);
}

TEST(Diagnose, DropsARankThatMovedBetweenTheLooks) {
  const MadeUp made = ring(4, Function::kRecv, 1);
  Snapshot second = made.later();
  second.worlds[0].ranks[2].report->moves += 1;
  const Diagnosis found = diagnose(made.snapshot, second);
  EXPECT_EQ(find(found, "deadlock-cycle"), nullptr) << text(found);
  EXPECT_FALSE(found.certain_deadlock());
}

TEST(Diagnose, IsNotCertainWhereAnotherThreadMayAct) {
  MadeUp made = ring(3, Function::kRecv, 1);
  made.rank(1).report->is_multithreaded = 1;
  const Diagnosis found = made.diagnosis();
  ASSERT_NE(find(found, "deadlock-cycle"), nullptr);
  EXPECT_FALSE(found.certain_deadlock());
}

/// As many packets as rank `from` says to have sent `to`, and of those as many as that one says to have.
void add_packets(MadeUp* made, int from, int to, std::uint32_t sent, std::uint32_t come) {
  const auto pair = [&](int rank, int peer) -> ReportedPair& {
    RankReport& report = *made->rank(rank).report;
    for (std::uint32_t i = 0; i < report.pairs_total; ++i) {
      if (report.pairs[i].peer == peer) return report.pairs[i];
    }
    ReportedPair& one = report.pairs[report.pairs_total++];
    one = {.peer = peer, .sent = 0, .come = 0, .waiting = 0, .still_ns = 11 * kSecond};
    return one;
  };
  pair(from, to).sent = sent;
  pair(to, from).come = come;
  made->rank(from).report->packets_sent += sent;
  made->rank(to).report->packets_come += come;
}

TEST(Diagnose, BlamesNoProgramWhilePacketsAreOnTheirWay) {
  MadeUp made = ring(3, Function::kRecv, 1);
  add_packets(&made, 0, 2, 15, 13);
  const Diagnosis found = made.diagnosis();
  EXPECT_FALSE(found.certain_deadlock());
  EXPECT_EQ(find(found, "deadlock-cycle"), nullptr) << text(found);
  const Finding* const finding = find(found, "packets-on-the-way");
  ASSERT_NE(finding, nullptr) << text(found);
  EXPECT_FALSE(finding->certain);
  EXPECT_TRUE(has(text(found),
                  "rank 0 has sent 15 packets to rank 2, of which 13 have come; nothing has moved "
                  "there for 11 s"))
      << text(found);
}

TEST(Diagnose, IsCertainWhereBothEndsAgree) {
  MadeUp made = ring(3, Function::kRecv, 1);
  add_packets(&made, 0, 2, 15, 15);
  add_packets(&made, 2, 0, 4, 4);
  EXPECT_TRUE(made.diagnosis().certain_deadlock());
  made.rank(2).report->pairs[0].waiting = 1;
  EXPECT_TRUE(has(text(made.diagnosis()), "rank 2 waits for a connection to rank 0"))
      << text(made.diagnosis());
}

TEST(Diagnose, IsNotCertainWhereMorePairsAreOpenThanAreListed) {
  MadeUp made = ring(2, Function::kRecv, 1);
  for (int rank = 0; rank < 2; ++rank) made.rank(rank).report->pairs_total = kReportedPairs + 1;
  EXPECT_TRUE(made.diagnosis().certain_deadlock()) << "the sums agree";
  made.rank(1).report->packets_sent = 1;
  EXPECT_FALSE(made.diagnosis().certain_deadlock());
}

TEST(Diagnose, TellsSendsThatWaitForReceivesApart) {
  const Diagnosis found = ring(4, Function::kSsend, 1).diagnosis();
  const Finding* const finding = find(found, "unsafe-exchange");
  ASSERT_NE(finding, nullptr) << text(found);
  EXPECT_TRUE(finding->certain && finding->is_deadlock);
  EXPECT_TRUE(has(finding->hint, "all of them send first")) << finding->hint;
  EXPECT_EQ(find(found, "deadlock-cycle"), nullptr);
}

TEST(Diagnose, FindsARankThatWaitsForItself) {
  MadeUp made(2);
  made.message(0, Function::kSsend, 0, 1);
  const Diagnosis found = made.diagnosis();
  ASSERT_NE(find(found, "waits-for-itself"), nullptr) << text(found);
  EXPECT_TRUE(found.certain_deadlock());
}

TEST(Diagnose, NamesThoseBehindACircle) {
  MadeUp made(5);
  made.message(0, Function::kRecv, 1, 7);
  made.message(1, Function::kRecv, 0, 7);
  for (int rank = 2; rank < 5; ++rank) made.message(rank, Function::kRecv, rank - 1, 7);
  const std::string told = text(made.diagnosis());
  EXPECT_TRUE(has(told, "ranks 0, 1 wait for each other")) << told;
  EXPECT_TRUE(has(told, "ranks 2-4 wait for them")) << told;
}

TEST(Diagnose, FindsACircleThroughACollective) {
  MadeUp made(3);
  made.collective(0, Function::kBarrier, 1);
  made.collective(1, Function::kBarrier, 1);
  made.message(2, Function::kRecv, 0, 3);
  const Diagnosis found = made.diagnosis();
  const Finding* const finding = find(found, "deadlock-cycle");
  ASSERT_NE(finding, nullptr) << text(found);
  EXPECT_TRUE(finding->certain);
  EXPECT_TRUE(has(finding->hint, "collective")) << finding->hint;
  const Finding* const missing = find(found, "collective-missing");
  ASSERT_NE(missing, nullptr);
  EXPECT_EQ(missing->ranks, (std::vector<RankId>{{0, 2}}));
  EXPECT_TRUE(has(missing->text.front(), "the 1st collective call on MPI_COMM_WORLD"))
      << missing->text.front();
}

TEST(Diagnose, WaitsForAllAndForAny) {
  MadeUp all(3);  // of two requests, the one from rank 1, which computes, may still come
  all.waits(0, Function::kWaitall);
  all.open(0, 0, MadeUp::entry(OpenKind::kReceive, 1, 1));
  all.open(0, 1, MadeUp::entry(OpenKind::kReceive, 2, 1));
  all.message(2, Function::kRecv, 0, 1);
  EXPECT_TRUE(all.diagnosis().certain_deadlock());
  EXPECT_TRUE(has(text(all.diagnosis()), "receive from rank 2, tag 1")) << text(all.diagnosis());

  MadeUp any = all;
  any.rank(0).report->awaits = Awaits::kAny;
  EXPECT_FALSE(any.diagnosis().certain_deadlock());
  any.message(1, Function::kRecv, 0, 1);
  EXPECT_TRUE(any.diagnosis().certain_deadlock());
}

TEST(Diagnose, WaitsOfPartitionedMessages) {
  const std::pair<OpenKind, const char*> kinds[] = {
      {OpenKind::kPartitionedSend, ": partitioned send to rank 1, tag 5"},
      {OpenKind::kPartitionedReceive,
       ": partitioned receive, which waits for MPI_Pready, from rank 1, tag 5"},
      {OpenKind::kPartitionedUnmatched, "which waits for MPI_Psend_init, from rank 1, tag 5"}};
  for (const auto& [kind, words] : kinds) {
    MadeUp made(3);
    made.waits(0, Function::kWait);
    made.open(0, 0, MadeUp::entry(kind, 1, 5));
    EXPECT_FALSE(made.diagnosis().certain_deadlock()) << "rank 1 computes";
    made.message(1, Function::kRecv, 0, 1);
    EXPECT_TRUE(made.diagnosis().certain_deadlock());
    EXPECT_TRUE(has(text(made.diagnosis()), words)) << text(made.diagnosis());
  }
  MadeUp made(2);
  made.waits(0, Function::kWait);
  made.open(0, 0, MadeUp::entry(OpenKind::kPartitionedUnready, 1, 5));
  const std::string unready = text(made.diagnosis());
  EXPECT_TRUE(has(unready, "[waits-for-itself, certain]")) << unready;
  EXPECT_TRUE(has(unready, "which waits for MPI_Pready of this rank, to rank 1")) << unready;
}

TEST(Diagnose, ACallMayWaitForWhatOthersBegan) {
  for (const Function function :
       {Function::kBuffer_detach, Function::kComm_disconnect, Function::kFinalize}) {
    MadeUp made(3);
    made.waits(0, function);
    ReportedMessage message = MadeUp::entry(OpenKind::kSend, 1, 5);
    message.function = static_cast<std::uint16_t>(Function::kBsend);
    made.open(0, 0, message);
    made.message(1, Function::kRecv, 2, 1);
    EXPECT_FALSE(made.diagnosis().certain_deadlock()) << "rank 2 computes";
    made.message(2, Function::kRecv, 0, 1);
    EXPECT_TRUE(
        has(text(made.diagnosis()), ": send to rank 1, tag 5, 80 bytes, MPI_COMM_WORLD, begun by MPI_Bsend"))
        << text(made.diagnosis());
  }
}

TEST(Diagnose, AccessesToFiles) {
  MadeUp made(3);
  made.waits(0, Function::kWait);
  made.open(0, 0, MadeUp::entry(OpenKind::kFile, kNobody, 0));
  made.message(1, Function::kRecv, 2, 1);
  made.message(2, Function::kRecv, 0, 1);
  EXPECT_FALSE(made.diagnosis().certain_deadlock()) << "the file may be slow";
  made.open(0, 0, MadeUp::entry(OpenKind::kFile, 1, 0));
  EXPECT_TRUE(made.diagnosis().certain_deadlock());
  made.rank(1).report->works_meanwhile = 1;
  EXPECT_FALSE(made.diagnosis().certain_deadlock()) << "its own access goes on";

  MadeUp either(3);  // where one of two ranks has to answer
  either.waits(0, Function::kFile_write_at).either.words[0] = 0b110;
  either.message(1, Function::kRecv, 0, 1);
  EXPECT_FALSE(either.diagnosis().certain_deadlock()) << "rank 2 computes";
  either.message(2, Function::kRecv, 0, 1);
  EXPECT_TRUE(either.diagnosis().certain_deadlock());
}

TEST(Diagnose, AnySourceIsStuckOnlyIfAllAre) {
  MadeUp made(3);
  made.message(0, Function::kRecv, kAnybody, 5);
  made.message(1, Function::kRecv, 0, 5);
  EXPECT_FALSE(made.diagnosis().certain_deadlock());
  ASSERT_NE(find(made.diagnosis(), "computing"), nullptr);
  made.message(2, Function::kRecv, 0, 5);
  EXPECT_TRUE(made.diagnosis().certain_deadlock());
  made.ends(2, 0, false);
  EXPECT_TRUE(made.diagnosis().certain_deadlock());
}

TEST(Diagnose, FindsAReceiveWhoseSenderIsDone) {
  MadeUp made(2);
  made.message(0, Function::kRecv, 1, 5);
  made.rank(1).life = Life::kFinalized;
  const Diagnosis found = made.diagnosis();
  const Finding* const finding = find(found, "peer-ended");
  ASSERT_NE(finding, nullptr) << text(found);
  EXPECT_TRUE(finding->certain && found.certain_deadlock());
  EXPECT_TRUE(has(text(found), "rank 1 is after MPI_Finalize")) << text(found);
}

TEST(Diagnose, FindsAWrongTagCommunicatorOrSource) {
  MadeUp made(3);
  made.message(0, Function::kRecv, 1, 5);
  made.message(1, Function::kRecv, 0, 5);
  made.unexpected(0, 0, MadeUp::entry(OpenKind::kUnexpected, 1, 6));
  Diagnosis found = made.diagnosis();
  ASSERT_NE(find(found, "tag-mismatch"), nullptr) << text(found);
  EXPECT_TRUE(has(find(found, "tag-mismatch")->text.front(),
                  "from rank 1 with tag 5 on MPI_COMM_WORLD, and has one "
                  "from rank 1 with tag 6"));
  made.unexpected(0, 0, MadeUp::entry(OpenKind::kUnexpected, 1, 5, kWorldContext + 1));
  found = made.diagnosis();
  EXPECT_NE(find(found, "communicator-mismatch"), nullptr) << text(found);
  made.unexpected(0, 0, MadeUp::entry(OpenKind::kUnexpected, 2, 5));
  found = made.diagnosis();
  EXPECT_NE(find(found, "source-mismatch"), nullptr) << text(found);
  made.unexpected(0, 0, MadeUp::entry(OpenKind::kUnexpected, 2, 9));
  found = made.diagnosis();
  EXPECT_EQ(find(found, "source-mismatch"), nullptr) << text(found);
}

TEST(Diagnose, ComparesCollectiveCalls) {
  MadeUp made(4);
  for (int rank = 0; rank < 4; ++rank)
    made.collective(rank, rank < 2 ? Function::kBcast : Function::kReduce, 5, 0);
  Diagnosis found = made.diagnosis();
  ASSERT_NE(find(found, "collective-mismatch"), nullptr) << text(found);
  EXPECT_TRUE(find(found, "collective-mismatch")->is_deadlock);
  EXPECT_TRUE(has(text(found), "ranks 0, 1: MPI_Bcast")) << text(found);

  for (int rank = 0; rank < 4; ++rank) made.collective(rank, Function::kBcast, 5, rank == 3 ? 1 : 0);
  found = made.diagnosis();
  ASSERT_NE(find(found, "root-mismatch"), nullptr) << text(found);
  EXPECT_TRUE(has(text(found), "rank 3: root is rank 1")) << text(found);

  for (int rank = 0; rank < 4; ++rank) {
    RankReport& report = made.collective(rank, Function::kAllreduce, 5);
    snprintf(report.op_name, sizeof report.op_name, rank == 0 ? "MPI_SUM" : "MPI_MAX");
  }
  EXPECT_NE(find(made.diagnosis(), "op-mismatch"), nullptr);

  for (int rank = 0; rank < 4; ++rank) {
    RankReport& report = made.collective(rank, Function::kAllreduce, 5);
    report.types = rank == 1 ? 11 : 12;
    report.bytes = rank == 1 ? 8 : 16;
  }
  EXPECT_NE(find(made.diagnosis(), "signature-mismatch"), nullptr);
}

TEST(Diagnose, FindsWhoDidNotComeToACollective) {
  MadeUp made(1024);
  for (int rank = 0; rank < 1024; ++rank) {
    if (rank != 500) made.collective(rank, Function::kAllreduce, 9);
  }
  made.rank(500).life = Life::kFinalized;
  const Diagnosis found = made.diagnosis();
  const Finding* const finding = find(found, "collective-missing");
  ASSERT_NE(finding, nullptr) << text(found);
  EXPECT_TRUE(finding->certain && finding->is_deadlock);
  EXPECT_EQ(finding->ranks, (std::vector<RankId>{{0, 500}}));
  EXPECT_LT(text(found).size(), 3000u) << text(found);
}

TEST(Diagnose, BelievesARankThatTellsWhomItLacks) {
  MadeUp made(4);
  made.collective(0, Function::kBarrier, 1);
  made.collective(1, Function::kBarrier, 1);
  made.message(2, Function::kRecv, 0, 3);  // rank 3 computes
  EXPECT_FALSE(made.diagnosis().certain_deadlock());
  made.rank(0).report->lacks.words[0] = 1u << 2 | 1u << 3;
  EXPECT_TRUE(made.diagnosis().certain_deadlock());
  // With another operation under way, some of those whom it lacks may be that one's.
  ReportedMessage other = MadeUp::entry(OpenKind::kCollective, kNobody, 0);
  other.is_awaited = 0;
  made.open(0, 0, other);
  EXPECT_FALSE(made.diagnosis().certain_deadlock());
}

TEST(Diagnose, ALackedRankIsNothingToAReceive) {
  MadeUp made(3);
  made.message(0, Function::kRecv, 1, 3);  // rank 1 computes
  made.message(2, Function::kRecv, 0, 3);
  made.rank(0).report->lacks.words[0] = 1u << 2;  // of a nonblocking barrier that is under way
  EXPECT_FALSE(made.diagnosis().certain_deadlock());
}

TEST(Diagnose, TellsNoCircleAmongThoseWhoMeet) {
  MadeUp made(3);
  made.collective(0, Function::kBarrier, 1);
  made.collective(1, Function::kBarrier, 1);
  made.message(2, Function::kRecv, 1, 3);
  const std::string told = text(made.diagnosis());
  EXPECT_TRUE(has(told, "ranks 1, 2 wait for each other")) << told;
  EXPECT_TRUE(has(told, "rank 0 waits for them")) << told;
}

TEST(Diagnose, TellsThatAPeerIsInFinalizeAlready) {
  MadeUp made(3);
  made.message(0, Function::kRecv, 1, 3);
  made.waits(1, Function::kFinalize).comm_index = -1;
  made.waits(2, Function::kFinalize).comm_index = -1;
  const Diagnosis found = made.diagnosis();
  ASSERT_NE(find(found, "peer-ended"), nullptr) << text(found);
  EXPECT_TRUE(has(text(found), "rank 0 waits for ranks 1, 2, which are in MPI_Finalize already"))
      << text(found);
  EXPECT_TRUE(found.certain_deadlock());
}

TEST(Diagnose, TellsAMismatchInsteadOfItsCircle) {
  MadeUp made(2);
  made.collective(0, Function::kBarrier, 1);
  made.collective(1, Function::kComm_split, 1);
  const Diagnosis found = made.diagnosis();
  EXPECT_NE(find(found, "collective-mismatch"), nullptr);
  EXPECT_EQ(find(found, "deadlock-cycle"), nullptr) << text(found);
  EXPECT_TRUE(found.certain_deadlock());
}

TEST(Diagnose, AReceiveFromAnyRankIsNoWaitForItself) {
  MadeUp made(3);
  made.message(0, Function::kRecv, kAnybody, 5);
  made.collective(1, Function::kBarrier, 1);
  made.collective(2, Function::kBarrier, 1);
  const std::string told = text(made.diagnosis());
  EXPECT_TRUE(has(told, "rank 0 waits for rank 1 in MPI_Recv (source any")) << told;
}

TEST(Diagnose, CallsComputingNoDeadlock) {
  MadeUp made(4);
  for (int rank = 0; rank < 3; ++rank) made.collective(rank, Function::kBarrier, 1);
  made.rank(3).stack.push_back(Place{"solve.c:88", "solve", "", 88, ""});
  const Diagnosis found = made.diagnosis();
  EXPECT_FALSE(found.certain_deadlock());
  const Finding* const finding = find(found, "computing");
  ASSERT_NE(finding, nullptr) << text(found);
  EXPECT_EQ(finding->ranks, (std::vector<RankId>{{0, 3}}));
  EXPECT_TRUE(has(text(found), "solve.c:88")) << text(found);
  EXPECT_EQ(find(found, "collective-missing"), nullptr) << text(found);
}

TEST(Diagnose, TellsOfARankThatPolls) {
  MadeUp made(2);
  made.message(0, Function::kRecv, 1, 1);
  RankReport& report = made.waits(1, Function::kIprobe);
  report.awaits = Awaits::kNothing;
  EXPECT_NE(find(made.diagnosis(), "polling"), nullptr) << text(made.diagnosis());
  EXPECT_FALSE(made.diagnosis().certain_deadlock());
}

TEST(Diagnose, WaitingForAnotherJobIsNoDeadlock) {
  MadeUp made(2);
  made.waits(0, Function::kComm_accept);
  made.message(1, Function::kRecv, 0, 1);
  const Diagnosis found = made.diagnosis();
  EXPECT_FALSE(found.certain_deadlock()) << text(found);
  EXPECT_NE(find(found, "waits-outside"), nullptr);
}

TEST(Diagnose, TellsHowRanksEndedAndWhatTheyLeftOut) {
  MadeUp made(4);
  made.ends(0, kSegmentationFault, true);
  made.ends(1, 0, true);
  made.rank(2).stopped = true;
  made.rank(3).life = Life::kStarted;
  made.rank(3).line = Line{};
  const Diagnosis found = made.diagnosis();
  for (const char* const id : {"rank-died", "missing-finalize", "stopped", "missing-init"}) {
    EXPECT_NE(find(found, id), nullptr) << id << "\n" << text(found);
  }
  EXPECT_TRUE(has(text(found), "rank 0 (pid 1000) was killed by signal 11 (Segmentation fault)"))
      << text(found);
  EXPECT_TRUE(has(text(found), "outside MPI, after MPI_Comm_rank")) << text(found);
}

TEST(Diagnose, TellsRanksThatDiedAlikeTogether) {
  MadeUp made(64);
  for (int rank = 0; rank < 64; ++rank) made.ends(rank, 3 << 8, true);
  const Diagnosis found = made.diagnosis();
  ASSERT_EQ(found.findings.size(), 1u) << text(found);
  EXPECT_TRUE(has(text(found), "ranks 0-63 exited with status 3 outside MPI, after MPI_Comm_rank"))
      << text(found);
}

TEST(Diagnose, SaysThatNothingIsWrong) {
  const MadeUp made(4);
  const Diagnosis found = made.diagnosis();
  EXPECT_TRUE(found.findings.empty()) << text(found);
  EXPECT_TRUE(has(text(found), "nothing wrong was found: no rank waits")) << text(found);
}

TEST(Diagnose, TellsWorldsApart) {
  MadeUp made = ring(2, Function::kRecv, 1);
  const MadeUp spawned = ring(3, Function::kRecv, 1);
  made.snapshot.worlds.push_back(spawned.snapshot.worlds[0]);
  made.snapshot.worlds[1].number = 1;
  const std::string told = text(made.diagnosis());
  EXPECT_TRUE(has(told, "5 ranks in 2 worlds")) << told;
  EXPECT_TRUE(has(told, "ranks 1: 0-2")) << told;
  EXPECT_TRUE(has(told, "in spawned world 1: deadlock: ranks 0-2")) << told;
}

TEST(Diagnose, WhereaboutsFitIntoASentence) {
  MadeUp made(1);
  EXPECT_EQ(whereabouts(made.rank(0)), "outside MPI, after MPI_Comm_rank");
  made.message(0, Function::kRecv, 3, 7);
  EXPECT_EQ(whereabouts(made.rank(0)), "in MPI_Recv (source 3, tag 7, MPI_COMM_WORLD) at ring.c:42");
  made.rank(0).report.reset();  // of a rank that has died its line is left
  EXPECT_EQ(whereabouts(made.rank(0)), "in MPI_Recv (source 3, tag 7) at ring.c:42");
  made.rank(0).line = Line{};
  EXPECT_EQ(whereabouts(made.rank(0)), "outside MPI");
  made.rank(0).life = Life::kStarted;
  EXPECT_EQ(whereabouts(made.rank(0)), "before MPI_Init");
}

TEST(Diagnose, JsonKeepsLettersAndEscapesTheRest) {
  MadeUp made(1);
  made.waits(0, Function::kWait);
  made.rank(0).places[0x4000] = Place{"w\xc3\xa4rme.c:1", "a\"b\\c\n", "/\xff/w.c", 1, ""};
  const std::string told = json(made.diagnosis(), made.snapshot);
  EXPECT_TRUE(has(told, "\"w\xc3\xa4rme.c:1\"")) << told;
  EXPECT_TRUE(has(told, R"("a\"b\\c\u000a")")) << told;
  EXPECT_TRUE(has(told, "\"/?/w.c\"")) << told;
  EXPECT_TRUE(told.starts_with("{\"tasuki_doctor\":1,\"deadlock\":false,\"groups\":[{\"state\":\"waiting\""))
      << told;
}

/// Ranks in random states: whatever it is, it is told, and shortly.
TEST(Diagnose, SurvivesAnything) {
  std::mt19937_64 random(20);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  for (int round = 0; round < 300; ++round) {
    const int size = round % 50 == 0 ? 1024 : 1 + below(12);
    MadeUp made(size);
    for (int rank = 0; rank < size; ++rank) {
      switch (below(5)) {
        case 0:
          made.message(rank, static_cast<Function>(below(kFunctions)), below(size + 1) - 1, below(3));
          break;
        case 1:
          made.collective(rank, static_cast<Function>(below(kFunctions)), random() % 4, below(size));
          break;
        case 2:
          made.ends(rank, below(2000) - 1, below(2) == 0);
          break;
        case 3: {
          made.waits(rank, below(2) == 0 ? Function::kWaitall : Function::kWaitany);
          made.rank(rank).report->awaits = static_cast<Awaits>(below(3));
          for (int i = 0; i < below(kReportedMessages); ++i) {
            made.open(rank, i, MadeUp::entry(static_cast<OpenKind>(below(14)), below(size), below(3)));
            made.unexpected(rank, i, MadeUp::entry(OpenKind::kUnexpected, below(size), below(3)));
          }
          break;
        }
        default:
          made.rank(rank).life = static_cast<Life>(below(4));
      }
    }
    const Diagnosis found = made.diagnosis();
    EXPECT_LT(text(found).size(), 60000u);
    EXPECT_EQ(json(found, made.snapshot).front(), '{');
  }
}

}  // namespace
}  // namespace tasuki::doctor
