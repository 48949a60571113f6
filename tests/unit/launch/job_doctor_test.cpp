// When our own job's ranks are looked at, and what follows.
#include "launch/doctor/job_doctor.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "base/calls/function.hpp"
#include "base/system/clock.hpp"
#include "made_world.hpp"

namespace tasuki::launch {
namespace {

using Occasion = JobDoctor::Occasion;
constexpr std::int64_t kSecond = 1'000'000'000;

class JobDoctorTest : public testing::Test {
 protected:
  Worlds worlds_;
  World& world_ = worlds_.add(made_world(2));
  WorldRank rank(int number) { return {&world_, number}; }
  void put_inside(int number) {
    rank(number).block().claimed_pid.store(getpid());
    rank(number).block().life.store(local::Life::kInitialized);
    world_.segment.board(number).line.word.store(kInside | 1);
  }
  std::optional<JobDoctor::Conclusion> conclusion_of(JobDoctor& doctor) {
    std::optional<JobDoctor::Conclusion> conclusion;
    const std::int64_t end_ns = clock_ns() + 20 * kSecond;
    while (!conclusion && clock_ns() < end_ns) {
      loop_.run_once(1);
      conclusion = doctor.step(false);
    }
    return conclusion;
  }
  EventLoop loop_;
  Options options_;
};

TEST_F(JobDoctorTest, WatchesOnlyWhereItIsWanted) {
  options_.stall_seconds = 0;
  JobDoctor doctor(loop_, worlds_, options_);
  EXPECT_EQ(doctor.watch_due_ns(), 0);
  options_.stall_seconds = 10;
  EXPECT_GT(doctor.watch_due_ns(), 0);
}

TEST_F(JobDoctorTest, ExaminesAStandstillOnceItHasLasted) {
  options_.stall_seconds = 2;
  put_inside(0);
  put_inside(1);
  JobDoctor doctor(loop_, worlds_, options_);
  for (std::int64_t now_ns = kSecond; now_ns < 3 * kSecond; now_ns += kSecond / 2) {
    doctor.watch(now_ns);
    EXPECT_FALSE(doctor.examines()) << now_ns;
  }
  doctor.watch(3 * kSecond);
  EXPECT_TRUE(doctor.examines());
  EXPECT_GT(doctor.step_due_ns(), 0);
  doctor.stop();
  EXPECT_FALSE(doctor.examines());
}

TEST_F(JobDoctorTest, ARankThatMovesIsNoStandstill) {
  options_.stall_seconds = 2;
  put_inside(0);
  put_inside(1);
  JobDoctor doctor(loop_, worlds_, options_);
  for (std::int64_t now_ns = kSecond; now_ns < 9 * kSecond; now_ns += kSecond / 2) {
    world_.segment.board(1).line.moves.fetch_add(1);
    doctor.watch(now_ns);
    EXPECT_FALSE(doctor.examines()) << now_ns;
  }
}

TEST_F(JobDoctorTest, RanksWithoutMpiHaveNothingToReport) {
  JobDoctor doctor(loop_, worlds_, options_);
  EXPECT_FALSE(doctor.has_something_to_report());
  rank(1).block().claimed_pid.store(getpid());
  EXPECT_TRUE(doctor.has_something_to_report());
}

TEST_F(JobDoctorTest, AnExaminationServesTheGravestOccasion) {
  JobDoctor doctor(loop_, worlds_, options_);
  doctor.examine(Occasion::kTimeLimit);
  doctor.examine(Occasion::kAsked);
  const auto conclusion = conclusion_of(doctor);
  ASSERT_TRUE(conclusion);
  EXPECT_EQ(conclusion->occasion, Occasion::kTimeLimit);
  EXPECT_EQ(conclusion->report.rfind("mpiexec: what the ranks are in at the time limit:\n", 0), 0u);
  EXPECT_FALSE(conclusion->deadlock);
  EXPECT_FALSE(doctor.examines());
}

TEST_F(JobDoctorTest, AFailureReplacesAnyOtherExamination) {
  JobDoctor doctor(loop_, worlds_, options_);
  doctor.examine(Occasion::kAsked);
  set_ended(rank(1), local::Life::kInitialized, SIGSEGV);
  doctor.examine_failure(rank(1));
  const auto conclusion = conclusion_of(doctor);
  ASSERT_TRUE(conclusion);
  EXPECT_EQ(conclusion->occasion, Occasion::kFailure);
  EXPECT_EQ(conclusion->report, "");  // none was asked for
}

TEST_F(JobDoctorTest, AFailureIsReportedInFullWhereItIsWanted) {
  options_.doctor = DoctorForm::kText;
  JobDoctor doctor(loop_, worlds_, options_);
  set_ended(rank(1), local::Life::kInitialized, SIGSEGV);
  doctor.examine_failure(rank(1));
  const auto conclusion = conclusion_of(doctor);
  ASSERT_TRUE(conclusion);
  EXPECT_NE(conclusion->report, "");
  EXPECT_NE(conclusion->report.back(), '\n');
}

}  // namespace
}  // namespace tasuki::launch
