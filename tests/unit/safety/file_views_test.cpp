// What a rank makes of the views that others say they have, and of other numbers from files' peers: a message
// that says whose memory is damaged, before any memory is taken by such a number, never an access elsewhere.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "coll/byte_collectives.hpp"
#include "io/access/access.hpp"
#include "io/file/view_table.hpp"
#include "io/support.hpp"
#include "io/two_phase/collective_access.hpp"
#include "io/two_phase/oversized_views.hpp"
#include "io/two_phase/start_message.hpp"
#include "placement/node_map.hpp"
#include "support/child.hpp"

namespace tasuki::test {
namespace {

constexpr double kSecondsMax = 30;

/// Two ranks with a file of theirs: what rank 1 does must end the job, with these words.
void expect_told(const std::string& words, const std::function<void(Process&, File&)>& right,
                 const std::function<void(Process&, File&)>& wrong) {
  const Ending ending = run_in_child(
      [&] {
        with_file(2,
                  [&](Process& process, File& file) { (process.rank == 0 ? right : wrong)(process, file); });
      },
      kSecondsMax);
  EXPECT_EQ(ending.how, Ended::kTold) << words << "\n" << ending.text;
  EXPECT_NE(ending.text.find("memory shared with rank 1 is damaged: " + words), std::string::npos)
      << words << "\n"
      << ending.text;
}

/// As view_table.cpp tells a view: a displacement, a number of words, and some of them.
using Record = std::array<std::int64_t, 48>;

void tell_record(File& file, std::int64_t displacement, std::int64_t words) {
  Record mine{displacement, words}, all[2];
  allgather_bytes(*file.comm, &mine, all, sizeof mine);
}

TEST(DamagedViews, DescriptionsOfNoPossibleLengthAreTold) {
  for (const auto& [displacement, words] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, -1}, {0, INT64_MAX}, {0, std::int64_t{1} << 40}, {0, (1 << 17) + 1}, {-1, 0}}) {
    expect_told(
        "the description of its view",
        [](Process& process, File& file) {
          file.has_first_view = false;
          const ViewTable* table = nullptr;
          Course course(process, Course::Waits::kInTheCall);
          expect_success(process, course.run(tell_views(course, file, &table)));
        },
        [displacement, words](Process&, File& file) { tell_record(file, displacement, words); });
  }
}

/// Rank 0 aggregates 100 bytes; rank 1's view was not sent.
AccessPlan oversized_plan() {
  AccessPlan plan;
  plan.parts = {RankPart{},
                RankPart{.map = nullptr, .range = {0, 50}, .data = 0, .is_told = false, .hull = {0, 100}}};
  plan.aggregators = {0};
  plan.domains = FileDomains::blocks({0, 100}, 1, 1, 100);
  plan.own_number = 0;
  return plan;
}

void hear_of_runs(Process& process, File& file) {
  const AccessPlan plan = oversized_plan();
  Course course(process, Course::Waits::kInTheCall);
  OversizedViews views(course, plan, *file.comm);
  const ExchangeParts travelling(plan, node_map(*file.comm), ExchangeOrder::kRank, 0);
  std::vector<ExchangePart> parts;
  course.run(views.announce(0));
  course.run(views.open(0, travelling, &parts));
  course.run(views.take(0));
  expect_success(process, course.run(views.finish()));
}

using Sizes = std::array<Count, 3>;  // runs, bytes, position
using Runs = std::vector<std::array<std::int64_t, 2>>;

void tell_runs(File& file, Sizes sizes, Runs runs) {
  Request* first = start_message(*file.comm, true, &sizes, sizeof sizes, 0, ExchangeMessage::kRunNumber, 0);
  wait_and_release(first, nullptr);
  Request* second = start_message(*file.comm, true, runs.data(), static_cast<Count>(runs.size() * 16), 0,
                                  ExchangeMessage::kRuns, 0);
  wait_and_release(second, nullptr);
}

TEST(DamagedViews, NumbersOfRunsThatCannotBeAreTold) {
  for (const Sizes& sizes : {Sizes{-1, 10, 0}, Sizes{INT64_MAX, 10, 0}, Sizes{11, 10, 0}, Sizes{1, 101, 0},
                             Sizes{0, 10, 0}, Sizes{1, 0, 0}, Sizes{1, 10, -5}}) {
    expect_told("the number of runs of its view", hear_of_runs, [sizes](Process&, File& file) {
      tell_runs(file, sizes, {{0, 10}});
    });
  }
}

TEST(DamagedViews, RunsThatLieElsewhereAreTold) {
  for (const Runs& runs :
       {Runs{{-1, 5}, {10, 5}}, Runs{{0, 5}, {96, 5}}, Runs{{10, 5}, {0, 5}}, Runs{{0, 5}, {3, 5}},
        Runs{{0, 0}, {3, 10}}, Runs{{0, 5}, {10, 6}}, Runs{{0, INT64_MAX}, {10, 5}}}) {
    expect_told("the runs of its view", hear_of_runs, [runs](Process&, File& file) {
      tell_runs(file, {2, 10, 0}, runs);
    });
  }
}

TEST(DamagedAccesses, NegativeAmountsInOrderAreTold) {
  expect_told(
      "how much it moves in the order of ranks",
      [](Process& process, File& file) {
        Access access{file, true, nullptr, 0, named(process, kMpiByte), 0};
        Course course(process, Course::Waits::kInTheCall);
        course.run(place_in_order(course, &access, kSuccess));
      },
      [](Process&, File& file) {
        const Offset wrong = -8;
        Offset all[2];
        allgather_bytes(*file.comm, &wrong, all, sizeof wrong);
      });
}

}  // namespace
}  // namespace tasuki::test
