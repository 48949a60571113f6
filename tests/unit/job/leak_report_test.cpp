// What a rank says it left behind: it comes to mpiexec as it was, and nothing else is taken for it.
#include "job/leak_report.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tasuki {
namespace {

Leak comm(std::uint64_t site, std::uint32_t count = 1) {
  return {"communicator 'rows'", "made", "MPI_Comm_split", "not freed", site, count};
}

LeakReport sample() {
  return {.job_id = 0x123456789abcdef0, .rank = 3, .leaks = {comm(0xffff800012345678, 7), comm(0)}};
}

TEST(LeakReports, ComeBackAsTheyWere) {
  LeakReport read;
  ASSERT_TRUE(decode(encode(sample()), &read));
  EXPECT_EQ(read.job_id, sample().job_id);
  EXPECT_EQ(read.rank, 3);
  EXPECT_EQ(read.leaks, sample().leaks);
}

TEST(LeakReports, WhatIsCutShortOrLongerOrOtherIsRefused) {
  const std::string whole = encode(sample());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    LeakReport read;
    EXPECT_FALSE(decode(whole.substr(0, length), &read)) << length;
  }
  LeakReport read;
  EXPECT_FALSE(decode(whole + "x", &read));
  EXPECT_FALSE(decode("bye", &read));
  for (std::size_t place = 0; place < whole.size(); ++place) {
    std::string damaged = whole;
    damaged[place] = '\xff';
    decode(damaged, &read);  // lengths that lead anywhere: nothing is read outside
  }
}

TEST(LeakReports, WhatIsAlikeIsCounted) {
  std::vector<Leak> leaks;
  add_leak(&leaks, comm(1));
  add_leak(&leaks, comm(2));
  add_leak(&leaks, comm(1, 4));
  EXPECT_EQ(leaks, (std::vector<Leak>{comm(1, 5), comm(2)}));
}

TEST(LeakReports, AreBounded) {
  std::vector<Leak> leaks;
  for (std::uint32_t site = 0; site < kLeaksMax + 10; ++site) add_leak(&leaks, comm(site));
  EXPECT_EQ(leaks.size(), kLeaksMax);
}

TEST(LeakReports, Words) {
  EXPECT_EQ(leak_text(comm(0), "solver.c:88"),
            "communicator 'rows', made by MPI_Comm_split at solver.c:88, not freed");
  EXPECT_EQ(leak_text({"message from rank 2 (tag 5)", "", "", "not received"}, ""),
            "message from rank 2 (tag 5), not received");
}

}  // namespace
}  // namespace tasuki
