// What is counted of collective accesses and of their phases (io/file/phase_times.hpp).
#include "io/file/phase_times.hpp"

#include "support.hpp"

namespace tasuki::test {
namespace {

TEST(PhaseTimes, APhaseIsCountedWithItsTimeAndBytes) {
  with_file(1, [](Process& process, File& file) {
    const PhasePlace place = begin_collective(file);
    note_phase(process, place, Phase::kRead, clock_ns() - 1000, 10);
    note_phase(process, place, Phase::kExchange, clock_ns() - 2000, 20);
    note_phase(process, place, Phase::kExchange, clock_ns() - 3000, 30);
    note_phase(process, place, Phase::kWrite, clock_ns() - 4000, 40);
    const FileCounts& counts = process.counters.files;
    EXPECT_EQ(counts.read.bytes, 10U);
    EXPECT_EQ(counts.exchange.bytes, 50U);
    EXPECT_EQ(counts.write.bytes, 40U);
    EXPECT_GE(counts.read.ns, 1000U);
    EXPECT_GE(counts.exchange.ns, 5000U);
    EXPECT_GE(counts.write.ns, 4000U);
  });
}

TEST(PhaseTimes, AccessesAreNumberedAlikeAtAllRanksAndCountedByTheirWay) {
  std::atomic<std::uint64_t> files = 0;
  with_file(3, [&](Process& process, File& file) {
    const PhasePlace first = begin_collective(file);
    end_collective(file, first, function_of(process.line), clock_ns(), {.two_phase = true, .cycles = 4});
    const PhasePlace second = begin_collective(file);
    end_collective(file, second, function_of(process.line), clock_ns(), {});
    EXPECT_EQ(first.call, 0U);
    EXPECT_EQ(second.call, 1U);
    EXPECT_EQ(first.file, second.file);
    if (process.rank == 0) files = first.file;
    expect_success(process, api::barrier(process, process.objects->world));
    EXPECT_EQ(first.file, files);
    EXPECT_EQ(process.counters.files.collective_accesses, 2U);
    EXPECT_EQ(process.counters.files.two_phase_accesses, 1U);
    EXPECT_EQ(process.counters.files.cycles, 4U);
  });
}

}  // namespace
}  // namespace tasuki::test
