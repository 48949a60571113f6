// What many ranks left behind alike is reported once, wherever each of them has the program in its memory.
#include "launch/report/leak_summary.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace tasuki::launch {
namespace {

constexpr const char* kHeading = "mpiexec: the program left behind:";

MappedFile program_at(std::uint64_t begin) {
  MappedFile file{.begin = begin, .end = begin + 0x1000, .offset = 0x400, .inode = 7, .path = ""};
  std::snprintf(file.path, sizeof file.path, "/home/a/solver");
  return file;
}

LeakReport report(int rank, std::uint64_t site, std::uint32_t count = 1) {
  return {
      .job_id = 1, .rank = rank, .leaks = {{"group", "made", "MPI_Comm_group", "not freed", site, count}}};
}

std::string line(const std::string& text) {
  return std::string(kHeading) + "\nmpiexec:   group, made by MPI_Comm_group, not freed: " + text;
}

TEST(Leaks, OfOnePlaceAreOneLine) {
  LeakSummary leaks;
  for (const int rank : {3, 1, 0, 2, 7}) {
    const std::uint64_t begin = 0x10000u * static_cast<unsigned>(rank + 1);
    leaks.add(0, report(rank, begin + 0x10, 2), {program_at(begin)});
  }
  EXPECT_EQ(leaks.text({}), line("2 on each of ranks 0-3, 7"));
  ASSERT_EQ(leaks.queries().size(), 1u);
  EXPECT_EQ(leaks.queries()[0].files.size(), 1u);
}

TEST(Leaks, OfOtherPlacesAreOtherLines) {
  LeakSummary leaks;
  leaks.add(0, report(0, 0x10010), {program_at(0x10000)});
  leaks.add(0, report(0, 0x10020), {program_at(0x10000)});
  leaks.add(2, report(0, 0x10010), {program_at(0x10000)});
  leaks.add(0, report(0, 0x10010), {});  // whose files are unknown
  EXPECT_EQ(leaks.queries().size(), 4u);
  EXPECT_NE(leaks.text({}).find("1 on rank 0 of spawn 2"), std::string::npos);
}

TEST(Leaks, SayFewestAndMostOfARank) {
  LeakSummary leaks;
  leaks.add(0, report(0, 0, 2), {});
  leaks.add(0, report(1, 0, 5), {});
  leaks.add(0, report(1, 0, 4), {});
  EXPECT_EQ(leaks.text({}), line("2 to 9 on each of ranks 0, 1"));
}

TEST(Leaks, NameTheSourceLine) {
  LeakSummary leaks;
  leaks.add(0, report(0, 0x10010), {program_at(0x10000)});
  SourceAnswer answer;
  answer.lines.push_back({.function = "main", .file = "/home/a/solver.c", .line = 88, .module = "solver"});
  EXPECT_NE(leaks.text({answer}).find("made by MPI_Comm_group at solver.c:88, not freed: 1 on rank 0"),
            std::string::npos);
}

TEST(Leaks, OfOneSourceLineAreOneLine) {
  LeakSummary leaks;
  leaks.add(0, report(0, 0x10010), {program_at(0x10000)});
  leaks.add(0, report(0, 0x10020, 2), {program_at(0x10000)});
  SourceAnswer answer;
  answer.lines.push_back({.function = "main", .file = "/home/a/solver.c", .line = 88, .module = "solver"});
  EXPECT_EQ(leaks.text({answer, answer}),
            std::string(kHeading) +
                "\nmpiexec:   group, made by MPI_Comm_group at solver.c:88, not freed: 3 on rank 0");
}

TEST(Leaks, AreBounded) {
  LeakSummary leaks;
  for (std::uint64_t site = 1; site < 3000; ++site) leaks.add(0, report(0, site), {});
  EXPECT_EQ(leaks.queries().size(), 1000u);
}

}  // namespace
}  // namespace tasuki::launch
