// Where a program is found by PATH, and why not.
#include "launch/program/program_search.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace tasuki::launch {
namespace {

TEST(ProgramSearch, AFolderThatMayNotBeEnteredHasNoPrograms) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / ("tasuki_search" + std::to_string(getpid()));
  fs::create_directories(root / "closed");
  fs::create_directories(root / "open");
  std::ofstream(root / "open/text") << "no program\n";
  std::ofstream(root / "closed/gone") << "no program\n";
  chmod((root / "closed").c_str(), 0);
  const uid_t before = geteuid();
  if (before == 0) ASSERT_EQ(setresuid(65534, 65534, 0), 0);
  const std::string path = (root / "closed").string() + ":" + (root / "open").string();
  const int gone = find_program("gone", "", path.c_str()).error;
  const int text = find_program("text", "", path.c_str()).error;
  if (before == 0) ASSERT_EQ(setresuid(0, 0, 0), 0);
  chmod((root / "closed").c_str(), 0700);
  fs::remove_all(root);
  EXPECT_EQ(gone, ENOENT);
  EXPECT_EQ(text, EACCES) << "there, but not to be executed";
}

}  // namespace
}  // namespace tasuki::launch
