// Which ends of a rank fail the job, with what exit status, and how it is told.
#include "launch/ending/rank_end.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace tasuki::launch {
namespace {

using local::Life;

RankEnd exited(int status, Life life) {
  RankEnd end;
  end.rank = 2;
  end.pid = 4711;
  end.wait_status = status << 8;
  end.life = life;
  return end;
}

RankEnd killed(int signal, Life life) {
  RankEnd end = exited(0, life);
  end.wait_status = signal;
  return end;
}

TEST(Failure, GoodEnds) {
  EXPECT_EQ(judge(exited(0, Life::kFinalized)), Verdict::kFine);
  EXPECT_EQ(judge(exited(0, Life::kStarted)), Verdict::kFine);
  EXPECT_EQ(exit_status(exited(0, Life::kFinalized)), 0);
}

TEST(Failure, AStatusAfterFinalizeCountsButEndsNothing) {
  EXPECT_EQ(judge(exited(5, Life::kFinalized)), Verdict::kReturned);
  EXPECT_EQ(exit_status(exited(5, Life::kFinalized)), 5);
}

TEST(Failure, DeathBySignal) {
  for (const Life life : {Life::kStarted, Life::kInitialized, Life::kFinalized}) {
    EXPECT_EQ(judge(killed(SIGSEGV, life)), Verdict::kFailed);
    EXPECT_EQ(exit_status(killed(SIGSEGV, life)), 128 + SIGSEGV);
  }
  EXPECT_EQ(failure_message(killed(SIGSEGV, Life::kInitialized), "x", 3),
            "mpiexec: rank 2 (pid 4711 on x) was killed by signal 11 (Segmentation fault); ending the other "
            "3 ranks");
  EXPECT_NE(failure_message(killed(SIGKILL, Life::kInitialized), "x", 0).find("memory"), std::string::npos);
  RankEnd big = killed(SIGKILL, Life::kInitialized);
  big.memory_exceeded = "the limit was reached";
  EXPECT_EQ(failure_message(big, "x", 0),
            "mpiexec: rank 2 (pid 4711 on x) was killed by signal 9 (Killed): the limit was reached");
  big.wait_status = (128 + SIGKILL) << 8;
  EXPECT_NE(failure_message(big, "x", 0).find("(Killed): the limit was reached"), std::string::npos);
  big.wait_status = SIGSEGV;
  EXPECT_EQ(failure_message(big, "x", 0).find("limit"), std::string::npos);
}

TEST(Failure, ExitWithoutFinalize) {
  EXPECT_EQ(judge(exited(0, Life::kInitialized)), Verdict::kFailed);
  EXPECT_EQ(exit_status(exited(0, Life::kInitialized)), 1);
  EXPECT_EQ(exit_status(exited(7, Life::kInitialized)), 7);
  EXPECT_EQ(failure_message(exited(0, Life::kInitialized), "x", 1),
            "mpiexec: rank 2 (pid 4711 on x) exited with status 0 without calling MPI_Finalize; ending the "
            "other rank");
  EXPECT_EQ(failure_message(exited(1, Life::kJoined), "x", 0),
            "mpiexec: rank 2 (pid 4711 on x) exited with status 1 in MPI_Init");
}

TEST(Failure, TheLastCall) {
  RankEnd end = killed(SIGSEGV, Life::kInitialized);
  end.whereabouts = "in MPI_Recv (source 3, tag 7, MPI_COMM_WORLD) at ring.c:42";
  EXPECT_EQ(
      failure_message(end, "x", 1),
      "mpiexec: rank 2 (pid 4711 on x) was killed by signal 11 (Segmentation fault) in MPI_Recv (source "
      "3, tag 7, MPI_COMM_WORLD) at ring.c:42; ending the other rank");
  end.wait_status = SIGKILL;
  EXPECT_EQ(failure_message(end, "x", 0),
            "mpiexec: rank 2 (pid 4711 on x) was killed by signal 9 (Killed) in MPI_Recv (source 3, tag 7, "
            "MPI_COMM_WORLD) at ring.c:42; the kernel sends this signal too when memory runs out");
  end.life = Life::kStarted;
  EXPECT_EQ(failure_message(end, "x", 0).find("MPI_Recv"), std::string::npos) << "it had not called MPI_Init";
  end = exited(3, Life::kInitialized);
  end.whereabouts = "outside MPI, after MPI_Bcast at solve.c:10";
  EXPECT_EQ(
      failure_message(end, "x", 0),
      "mpiexec: rank 2 (pid 4711 on x) exited with status 3 without calling MPI_Finalize, after MPI_Bcast "
      "at solve.c:10");
  end.whereabouts = "in MPI_Reduce at solve.c:12";
  EXPECT_EQ(
      failure_message(end, "x", 0),
      "mpiexec: rank 2 (pid 4711 on x) exited with status 3 without calling MPI_Finalize in MPI_Reduce at "
      "solve.c:12");
}

TEST(Failure, ExitWithoutInit) {
  EXPECT_EQ(judge(exited(3, Life::kStarted)), Verdict::kFailed);
  EXPECT_EQ(
      failure_message(exited(139, Life::kStarted), "x", 0),
      "mpiexec: rank 2 (pid 4711 on x) exited with status 139 (as a shell reports signal 11 (Segmentation "
      "fault))");
  RankEnd absent = exited(0, Life::kStarted);
  absent.in_world = false;
  absent.others_in_world = true;
  EXPECT_EQ(judge(absent), Verdict::kFailed);
  EXPECT_EQ(exit_status(absent), 1);
  EXPECT_NE(failure_message(absent, "x", 1).find("without calling MPI_Init, as other ranks did"),
            std::string::npos);
}

TEST(Failure, SessionsAlone) {
  RankEnd end = exited(0, Life::kFinalized);
  end.in_world = false;
  EXPECT_EQ(judge(end), Verdict::kFine);
  end.life = Life::kInitialized;
  EXPECT_EQ(judge(end), Verdict::kFailed);
  EXPECT_NE(failure_message(end, "x", 1).find("without finalising its MPI session"), std::string::npos);
  end.life = Life::kFinalized;
  end.others_in_world = true;
  EXPECT_EQ(judge(end), Verdict::kFailed) << "the others wait for it in MPI_Init";
}

TEST(Failure, Abort) {
  RankEnd end = exited(9, Life::kAborting);
  end.abort_code = 9;
  end.abort_message = "the sum is wrong";
  EXPECT_EQ(judge(end), Verdict::kFailed);
  EXPECT_EQ(exit_status(end), 9);
  EXPECT_EQ(failure_message(end, "x", 1),
            "mpiexec: rank 2 (pid 4711 on x) ended the job: the sum is wrong; ending "
            "the other "
            "rank");
  end.site = "sum.c:7";
  EXPECT_EQ(failure_message(end, "x", 0),
            "mpiexec: rank 2 (pid 4711 on x) ended the job: the sum is wrong; called at sum.c:7");
  end.site.clear();
  end.abort_message.clear();
  EXPECT_EQ(failure_message(end, "x", 0), "mpiexec: rank 2 (pid 4711 on x) ended the job with code 9");
  end.abort_code = 0;
  EXPECT_EQ(exit_status(end), 1);
  end.abort_code = 512;
  EXPECT_EQ(exit_status(end), 1);
}

}  // namespace
}  // namespace tasuki::launch
