// Source lines of this very program, by the program that mpiexec asks; and what is left when that fails.
#include "launch/doctor/source_lines.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/calls/mapped_files.hpp"
#include "base/system/clock.hpp"

namespace tasuki::launch {
namespace {

std::uint64_t here() __attribute__((noinline));
std::uint64_t here() {
  return reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}

struct Spot {
  std::uint64_t address;
  int line;
};

Spot spot() __attribute__((noinline));
Spot spot() {
  const std::uint64_t address = here();
  return {address, __LINE__ - 1};
}

/// A program that stands in for ours.
std::string script(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/source_lines_" + std::to_string(getpid()) + "_" + name;
  std::ofstream(path) << "#!/bin/sh\n" << text;
  chmod(path.c_str(), 0700);
  return path;
}

TEST(MappedFiles, ReadsCodeOfFiles) {
  MappedFile file;
  ASSERT_TRUE(read_mapping("7f00-7f10 r-xp 00001000 08:01 1234    /home/a b/ring", &file));
  EXPECT_EQ(file.begin, 0x7f00u);
  EXPECT_EQ(file.end, 0x7f10u);
  EXPECT_EQ(file.offset, 0x1000u);
  EXPECT_EQ(file.inode, 1234u);
  EXPECT_STREQ(file.path, "/home/a b/ring");
}

TEST(MappedFiles, LeavesTheRestOut) {
  MappedFile file;
  for (const char* line :
       {"", "7f00", "7f00-7f10", "7f00-7f10 r-xp", "7f00-7f10 r-xp 0 08:01 1", "7f00-7f10 r--p 0 08:01 1 /a",
        "7f00-7f10 r-xp 0 00:00 0 [vdso]", "7f00-7f10 r-xp 0 00:00 0 ", "7f10-7f00 r-xp 0 08:01 1 /a",
        "7f00-7f10 r-xp 0 08:01 1 /a (deleted)", "xyz-7f10 r-xp 0 08:01 1 /a"}) {
    EXPECT_FALSE(read_mapping(line, &file)) << line;
  }
  const std::string far = "7f00-7f10 r-xp 0 08:01 1 /" + std::string(sizeof file.path, 'a');
  EXPECT_FALSE(read_mapping(far, &file));
}

TEST(MappedFiles, PublishedOnesTellTheProgramFirst) {
  auto board = std::make_unique<CallBoard>();
  EXPECT_TRUE(published_files(*board).empty());
  publish_files(0, board.get());
  const std::vector<MappedFile> files = published_files(*board);
  ASSERT_FALSE(files.empty());
  const std::uint64_t own = spot().address;
  EXPECT_LE(files[0].begin, own);
  EXPECT_LT(own, files[0].end);
}

TEST(MappedFiles, BadOnesAreLeftOut) {
  auto board = std::make_unique<CallBoard>();
  publish_files(0, board.get());
  const std::size_t good = published_files(*board).size();
  ASSERT_GE(good, 1u);
  std::memset(board->files[0].path, 'x', sizeof board->files[0].path);
  EXPECT_EQ(published_files(*board).size(), good - 1);
  board->files_known.store(0xffffffff);
  std::memset(static_cast<void*>(board->files), 0xff, sizeof board->files);
  EXPECT_TRUE(published_files(*board).empty());
}

TEST(ShortText, TellsWhatIsKnown) {
  EXPECT_EQ(short_text({}), "");
  EXPECT_EQ(short_text({"solve", "/home/a/ring.c", 42, "/home/a/ring"}), "ring.c:42");
  EXPECT_EQ(short_text({"solve", "", 0, "/home/a/ring"}), "solve() in ring");
  EXPECT_EQ(short_text({"solve", "/home/a/ring.c", 0, "/home/a/ring"}), "solve() in ring");
  EXPECT_EQ(short_text({"", "", 0, "/lib/MPI.cpython-311.so"}), "MPI.cpython-311.so");
}

TEST(SourceLookup, WithoutTheProgramModulesAreTold) {
  SourceQuery query{.pid = getpid(), .addresses = {spot().address, 0, 1}};
  const auto answers = find_source_lines({query, {}}, 1000, "/nowhere/at/all");
  ASSERT_EQ(answers.size(), 2u);
  ASSERT_EQ(answers[0].lines.size(), 3u);
  EXPECT_TRUE(answers[0].lines[0].module.ends_with("unit_launch"));
  EXPECT_FALSE(answers[0].lines[1].known());
  EXPECT_FALSE(answers[0].lines[2].known());
  EXPECT_TRUE(answers[1].lines.empty());
}

TEST(SourceLookup, AProgramThatHangsIsEnded) {
  const std::string path =
      script("hangs", "printf '0\\tsolve\\t/a/ring.c\\t42\\t\\n0\\thalf a li'\nexec sleep 100\n");
  const SourceQuery query{.pid = getpid(), .addresses = {spot().address}};
  const std::int64_t begin = clock_ns();
  const auto answers = find_source_lines({query}, 300, path);
  EXPECT_LT(clock_ns() - begin, 30'000'000'000);
  EXPECT_EQ(short_text(answers.at(0).lines.at(0)), "ring.c:42");  // what was said in time counts
  unlink(path.c_str());
}

TEST(SourceLookup, NonsenseIsNotBelieved) {
  const std::string path = script(
      "raves",
      "printf '\\n\\t\\n-1\\tx\\n99\\ta\\tb\\t3\\n0 f\\n0\\t\\t\\t99999999999999\\n'; kill -SEGV $$\n");
  const SourceQuery query{.pid = getpid(), .addresses = {spot().address, 0}};
  const auto answers = find_source_lines({query}, 5000, path);
  ASSERT_EQ(answers.at(0).lines.size(), 2u);
  EXPECT_EQ(short_text(answers[0].lines[0]), "unit_launch");
  EXPECT_FALSE(answers[0].lines[1].known());
  unlink(path.c_str());
}

#ifdef TASUKI_SOURCE_LINES

TEST(SourceLines, OfAProcessThatLives) {
  const Spot here_now = spot();
  const SourceQuery query{.pid = getpid(), .addresses = {here_now.address, here_now.address}};
  const auto answers = find_source_lines({query, query}, 60'000, TASUKI_SOURCE_LINES);
  ASSERT_EQ(answers.size(), 2u);
  for (const SourceAnswer& answer : answers) {
    for (const SourceLine& line : answer.lines) {
      EXPECT_EQ(short_text(line), "source_lines_test.cpp:" + std::to_string(here_now.line));
      EXPECT_EQ(line.function, "spot");
      EXPECT_EQ(line.file[0], '/');
    }
  }
}

TEST(SourceLines, OfOneThatHasEnded) {
  auto board = std::make_unique<CallBoard>();
  publish_files(0, board.get());
  const Spot here_now = spot();
  const SourceQuery query{.files = published_files(*board), .addresses = {here_now.address}};
  const auto answers = find_source_lines({query}, 60'000, TASUKI_SOURCE_LINES);
  EXPECT_EQ(short_text(answers.at(0).lines.at(0)), "source_lines_test.cpp:" + std::to_string(here_now.line));
}

TEST(SourceLines, AnotherFileAtThatPathTellsNothing) {
  auto board = std::make_unique<CallBoard>();
  publish_files(0, board.get());
  for (MappedFile& file : board->files) ++file.inode;
  const SourceQuery query{.files = published_files(*board), .addresses = {spot().address}};
  const auto answers = find_source_lines({query}, 60'000, TASUKI_SOURCE_LINES);
  EXPECT_EQ(short_text(answers.at(0).lines.at(0)), "unit_launch");
}

TEST(SourceLines, AnEventLoopNeedsNotWait) {
  EventLoop loop;
  SourceLookup lookup(&loop, TASUKI_SOURCE_LINES);
  const Spot here_now = spot();
  lookup.start({{.pid = getpid(), .addresses = {here_now.address}}}, 60'000);
  while (!lookup.done()) loop.run_once(60'000);
  EXPECT_EQ(short_text(lookup.answers().at(0).lines.at(0)),
            "source_lines_test.cpp:" + std::to_string(here_now.line));
}

volatile bool computing = true;
void compute_for_ever() __attribute__((noinline));
void compute_for_ever() {
  while (computing) {
  }
}

/// The child's state in /proc: 'R', 'S', 't' of one that is traced …
char state_of(pid_t pid) {
  std::string text;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), text);
  const std::size_t parenthesis = text.rfind(')');
  return parenthesis != std::string::npos && parenthesis + 2 < text.size() ? text[parenthesis + 2] : '?';
}

TEST(SourceLines, UnwindsWhatComputesAndLetsItGo) {
  const pid_t child = fork();
  if (child == 0) {
    compute_for_ever();
    _exit(0);
  }
  std::vector<SourceAnswer> answers;
  for (int attempt = 0; attempt < 100; ++attempt) {  // it may not have come that far
    answers = find_source_lines({{.pid = child, .wants_stack = true}}, 60'000, TASUKI_SOURCE_LINES);
    ASSERT_EQ(answers.size(), 1u);
    if (answers[0].stack.empty() || answers[0].stack[0].function == "compute_for_ever") break;
  }
  if (answers[0].stack.empty()) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    GTEST_SKIP() << "tracing is not permitted here";
  }
  EXPECT_EQ(answers[0].stack[0].function, "compute_for_ever");
  EXPECT_GE(answers[0].stack.size(), 3u);
  EXPECT_EQ(state_of(child), 'R');
  // One that was stopped stays so.
  kill(child, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  answers = find_source_lines({{.pid = child, .wants_stack = true}}, 60'000, TASUKI_SOURCE_LINES);
  EXPECT_EQ(answers.at(0).stack.at(0).function, "compute_for_ever");
  EXPECT_EQ(state_of(child), 'T');
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(SourceLines, SurvivesWhatIsNoProgram) {
  const std::string path = testing::TempDir() + "/source_lines_" + std::to_string(getpid()) + "_broken";
  std::string bytes("\177ELF\2\1\1");
  for (int index = 0; index < 5000; ++index) bytes += static_cast<char>(index * 7919 >> 3);
  std::ofstream(path) << bytes;
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  MappedFile file{.begin = 0x1000, .end = 0x2000, .inode = info.st_ino};
  std::strcpy(file.path, path.c_str());
  const SourceQuery query{.files = {file}, .addresses = {0x1234}};
  const auto answers = find_source_lines({query}, 60'000, TASUKI_SOURCE_LINES);
  EXPECT_TRUE(short_text(answers.at(0).lines.at(0)).ends_with("_broken"));
  unlink(path.c_str());
}

#endif

}  // namespace
}  // namespace tasuki::launch
