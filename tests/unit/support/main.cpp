// What a folder's unit tests are started by: unit_FOLDER [x_test.cpp] [options of GoogleTest]. With a source
// file's name its tests alone are run, so that each file has a process to itself.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

/// GoogleTest's filter for the tests that stand in the file; empty: there is none.
std::string filter_of_file(std::string_view file) {
  const std::string end = "/" + std::string(file);
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::string filter;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (std::string_view(test.file()).ends_with(end)) {
        filter += std::string(filter.empty() ? "" : ":") + suite.name() + "." + test.name();
      }
    }
  }
  return filter;
}

}  // namespace

/// What the leak checker is not to tell of: libfabric 1.17 loses a description of each endpoint, and some of
/// each connection.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions() {
  return "leak:libfabric.so\n";
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) {
    const std::string filter = filter_of_file(argv[1]);
    if (filter.empty()) {
      std::fprintf(stderr, "%s: no test stands in '%s', expected a source file like x_test.cpp\n", argv[0],
                   argv[1]);
      return 2;
    }
    GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
