// Which lines a job's file of phase times gets (io/file/phase_spans.hpp), what is left out, and what happens
// where it cannot be written.
#include "io/file/phase_spans.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "support.hpp"

namespace tasuki::test {
namespace {

std::vector<std::string> lines_of(const FileName& name) {
  std::ifstream file(name.get());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::size_t with_start(const std::vector<std::string>& lines, const std::string& start) {
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(start); }));
}

std::unique_ptr<PhaseSpans> open_spans(const FileName& name) {
  std::string error;
  auto spans =
      PhaseSpans::open(name.text(), {.job = 7, .rank = 1, .ranks = 4, .node = 1, .nodes = 2}, &error);
  EXPECT_NE(spans, nullptr) << error;
  return spans;
}

TEST(PhaseSpans, AnAccessIsALineWithItsPhases) {
  const FileName name;
  const auto spans = open_spans(name);
  const PhasePlace second{.file = 40, .call = 2, .cycle = 1};
  spans->add({.file = 40, .call = 2}, Phase::kExchange, 100, 110, 64);
  spans->add({.file = 41, .call = 0}, Phase::kRead, 105, 130, 8);  // of another one that goes on
  spans->add(second, Phase::kWrite, 111, 120, 32);
  spans->add_access(second, "/tmp/a \"b\"\n", Function::kFile_write_all,
                    {.two_phase = true, .aggregator = 1, .cycles = 2, .bytes = 64}, 99, 121);
  spans->write();
  EXPECT_EQ(
      lines_of(name),
      (std::vector<std::string>{
          R"({"io_times":1,"job":"0000000000000007","rank":1,"ranks":4,"node":1,"nodes":2})",
          R"({"call":2,"job":"0000000000000007","rank":1,"file":"/tmp/a \"b\"\u000a","opened":40,)"
          R"("function":"MPI_File_write_all","way":"two-phase","aggregator":1,"cycles":2,"bytes":64,)"
          R"("begin_ns":99,"end_ns":121,"spans":[["exchange",0,100,110,64],["write",1,111,120,32]]})"}));
  spans->add_access({.file = 41}, "/tmp/c", Function::kFile_read_all, {.bytes = 8}, 104, 131);
  spans->write();
  EXPECT_EQ(lines_of(name).back(),
            R"({"call":0,"job":"0000000000000007","rank":1,"file":"/tmp/c","opened":41,)"
            R"("function":"MPI_File_read_all","way":"independent","aggregator":null,"cycles":0,"bytes":8,)"
            R"("begin_ns":104,"end_ns":131,"spans":[["read",0,105,130,8]]})");
}

TEST(PhaseSpans, WhatIsTooMuchIsLeftOutAndCounted) {
  const FileName name;
  const auto spans = open_spans(name);
  for (std::uint32_t cycle = 0; cycle < PhaseSpans::kSpansMax + 5; ++cycle)
    spans->add({.file = 1, .call = 0, .cycle = cycle}, Phase::kWrite, 1, 2, 3);
  spans->add_access({.file = 1}, "/tmp/a", Function::kFile_write_all, {}, 0, 3);
  const std::vector<std::string> lines = lines_of(name);  // so much is written without being asked
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(static_cast<std::size_t>(std::count(lines[1].begin(), lines[1].end(), '[')),
            PhaseSpans::kSpansMax + 1);
  EXPECT_EQ(lines[2], R"({"left_out":5,"job":"0000000000000007","rank":1})");
  spans->add({.file = 1, .call = 1}, Phase::kWrite, 1, 2, 3);
  spans->add_access({.file = 1, .call = 1}, "/tmp/a", Function::kFile_write_all, {}, 0, 3);
  spans->write();
  EXPECT_EQ(lines_of(name).size(), 4U);  // there is room again
}

TEST(PhaseSpans, OnlyARegularFileIsWritten) {
  const FileName name;
  std::string error;
  EXPECT_EQ(PhaseSpans::open("/no/such/folder/x", {}, &error), nullptr);
  EXPECT_EQ(error, "TASUKI_IO_TIMES: cannot write '/no/such/folder/x': No such file or directory");
  const std::string pipe = name.text() + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(PhaseSpans::open(pipe, {}, &error), nullptr);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_EQ(PhaseSpans::open(pipe, {}, &error), nullptr);
  EXPECT_TRUE(error.ends_with("it is no regular file")) << error;
  ::close(reader);
  ::unlink(pipe.c_str());
}

TEST(PhaseSpans, TheRanksOfAJobWriteToOneFileWhenTheyCloseTheirs) {
  const FileName name;
  WorldOptions options{.nodes = {0, 0, 1}};
  options.config.io_times_file = name.text();
  with_file(
      3,
      [](Process& process, File& file) {
        const std::int64_t begin_ns = clock_ns();
        const PhasePlace place = begin_collective(file);
        note_phase(process, place, Phase::kExchange, begin_ns, 10);
        end_collective(file, place, function_of(process.line), begin_ns,
                       {.two_phase = true, .cycles = 1, .bytes = 10});
      },
      kModeRdwr | kModeCreate, options);
  const std::vector<std::string> lines = lines_of(name);
  EXPECT_EQ(with_start(lines, R"({"io_times":1,)"), 3U);
  EXPECT_EQ(with_start(lines, R"({"call":0,)"), 3U);
  EXPECT_EQ(lines.size(), 6U);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) { return line.ends_with(R"("node":1,"nodes":2})"); }),
            1);
}

}  // namespace
}  // namespace tasuki::test
