// The file of parameters: what is taken, and the words with which every kind of bad table is refused.
#include "tuning/table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "base/variables/collective_operations.hpp"

namespace tasuki {
namespace {

/// A file of this process: the test may run under a sanitizer and without one at the same time.
std::string own_file(const char* name) {
  return testing::TempDir() + name + std::to_string(getpid()) + ".json";
}

TEST(TableTest, EveryParameterCanBeSet) {
  std::set<const double*> fields;
  Parameters parameters;
  for (const ParameterRow& row : parameter_table()) {
    EXPECT_TRUE(fields.insert(&row.field(parameters)).second) << row.path << " names the field of another";
    EXPECT_GE(row.field(parameters), row.min) << row.path;
    EXPECT_LE(row.field(parameters), row.max) << row.path;
    // "a.b.c" -> {"tasuki_tuning": 1, "a": {"b": {"c": 77}}}
    std::string open = "{\"tasuki_tuning\": 1, \"", close = "}";
    for (const char* at = row.path; *at != '\0'; ++at) {
      if (*at == '.') {
        open += "\": {\"";
        close += "}";
      } else {
        open += *at;
      }
    }
    Table read;
    std::string error;
    ASSERT_TRUE(parse_table(open + "\": 77" + close, &read, &error)) << error;
    EXPECT_EQ(row.field(read.parameters), 77) << row.path;
  }
  EXPECT_EQ(fields.size() * sizeof(double), sizeof(Parameters)) << "a parameter has no line in the table";
}

TEST(TableTest, WhatIsNotNamedStays) {
  Table table;
  const Parameters& parameters = table.parameters;
  std::string error;
  ASSERT_TRUE(parse_table(R"({"machine": "a big one", "written": "yesterday", "tasuki_tuning": 1,
      "messages": {"cache": {"latency_ns": 12.5}, "network": {}}, "node_segment": {"flag_ns": 1e2}})",
                          &table, &error))
      << error;
  EXPECT_EQ(parameters.cache.latency_ns, 12.5);
  EXPECT_EQ(parameters.flag_ns, 100);
  EXPECT_EQ(parameters.cache.software_ns, Parameters{}.cache.software_ns);
  EXPECT_EQ(parameters.network.latency_ns, Parameters{}.network.latency_ns);
}

TEST(TableTest, FormerNamesAreTaken) {
  Table table;
  std::string error;
  ASSERT_TRUE(parse_table(R"({"tasuki_tuning": 1,
      "stage": {"flag_ns": 1, "shared_ns": 2, "pulled_bytes_per_ns": 3},
      "choices": {"bcast of 8 to 9 bytes among 4 ranks": "two_level"}})",
                          &table, &error))
      << error;
  EXPECT_EQ(table.parameters.flag_ns, 1);
  EXPECT_EQ(table.parameters.expose_ns, 2);
  EXPECT_EQ(table.parameters.get_bytes_per_ns, 3);
  ASSERT_EQ(table.choices.size(), 1u);
  EXPECT_STREQ(algorithm_table()[static_cast<std::size_t>(table.choices[0].algorithm)].name, "hierarchical");
}

/// Nothing of a table that is refused is taken.
void expect_refused(const std::string& text, const std::string& reason) {
  Table table;
  Parameters& parameters = table.parameters;
  parameters.turn_ns = 4711;
  std::string error;
  EXPECT_FALSE(parse_table(text, &table, &error)) << text;
  EXPECT_EQ(error, reason) << text;
  EXPECT_EQ(parameters.flag_ns, Parameters{}.flag_ns) << text;
  EXPECT_EQ(parameters.turn_ns, 4711) << text;
}

TEST(TableTest, BadOnesAreRefusedWithLineAndReason) {
  const struct {
    const char* text;
    const char* reason;
  } cases[] = {
      {"", "line 1: it ends too early"},
      {"nonsense", "line 1: no JSON at \"no\""},
      {"[1]", "line 1: the table is an array, expected an object"},
      {"7", "line 1: the table is 7, expected an object"},
      {"null", "line 1: the table is null, expected an object"},
      {"{}", "line 1: it has no \"tasuki_tuning\", the version of the table"},
      {"{\n\"tasuki_tuning\": 2\n}", "line 2: the table is of version 2, this library reads version 1"},
      {"{\n\"tasuki_tuning\": \"1\"\n}", "line 2: tasuki_tuning = \"1\", expected the number 1"},
      {"{\"tasuki_tuning\": 1,\n\n\"stages\": {\n\"flag_ns\": 1}}",
       "line 3: stages is no group of parameters"},
      {"{\"tasuki_tuning\": 1,\n\"node_segment\": {\n\"flag\": 1}}",
       "line 3: node_segment.flag = 1, but there is no such parameter"},
      {"{\"tasuki_tuning\": 1,\n\"node_segment\": 5}",
       "line 2: node_segment = 5, but there is no such parameter"},
      {"{\"tasuki_tuning\": 1,\n\"node_segment\": {\n\"flag_ns\": -1\n}}",
       "line 3: node_segment.flag_ns = -1, expected a number from 0 to 1e+09"},
      {"{\"tasuki_tuning\": 1,\n\"node_segment\": {\"flag_ns\": \"fast\"}}",
       "line 2: node_segment.flag_ns = \"fast\", expected a number from 0 to 1e+09"},
      {"{\"tasuki_tuning\": 1,\n\"node_segment\": {\"flag_ns\": [1]}}",
       "line 2: node_segment.flag_ns = an array, expected a number from 0 to 1e+09"},
      {"{\"tasuki_tuning\": 1,\n\"node_segment\": {\"flag_ns\": {}}}",
       "line 2: node_segment.flag_ns is no group of parameters"},
      {"{\"tasuki_tuning\": 1,\n\"node_segment\": {\"flag_ns\": true}}",
       "line 2: node_segment.flag_ns = true, expected a number from 0 to 1e+09"},
      {"{\"tasuki_tuning\": 1,\n\"node_segment\": {\"flag_ns\": 1,\n\"flag_ns\": 2}}",
       "line 3: node_segment.flag_ns is there twice"},
      {"{\"tasuki_tuning\": 1,\n\"node_segment\": {\"flag_ns\": 1},\n\"node_segment\": {}}",
       "line 3: node_segment is there twice"},
      {"{\"tasuki_tuning\": 1,\n\"memory\": {\"node_bytes_per_ns\": 0}}",
       "line 2: memory.node_bytes_per_ns = 0, expected a number from 1e-06 to 1e+06"},
      {"{\"tasuki_tuning\": 1,\n\"node_segment\": {\"flag_ns\": 1e999}}", "line 2: no JSON at \"1e999\""},
      {"{\"tasuki_tuning\": 1,\n\"machine\": 5}", "line 2: machine = 5, expected a text"},
      {"{\"tasuki_tuning\": 1,\n\"node_segment\": {\"flag_ns\": 1}", "line 2: no JSON at \"1}\""},
      {"{\"tasuki_tuning\": 1} x", "line 1: no JSON at \"1} x\""},
  };
  for (const auto& [text, reason] : cases) expect_refused(text, reason);
}

TEST(TableTest, BadChoicesAndMachinesAreRefusedWithLineAndReason) {
  const struct {
    const char* text;
    const char* reason;
  } cases[] = {
      {"{\"tasuki_tuning\": 1,\n\"made_on\": {\"processors\": 0}}",
       "line 2: made_on.processors = 0, expected a number from 1 to 1e+06"},
      {"{\"tasuki_tuning\": 1,\n\"made_on\": {\"library\": 2}}",
       "line 2: made_on.library = 2, expected a text"},
      {"{\"tasuki_tuning\": 1,\n\"made_on\": {\"kernel\": \"6\"}}",
       "line 2: made_on.kernel = \"6\", but there is no such parameter"},
      {"{\"tasuki_tuning\": 1,\n\"choices\": {\"bcast of 8 to 9 bytes among 4 ranks\": \"lanes\"}}",
       "line 2: choices.bcast of 8 to 9 bytes among 4 ranks = \"lanes\", expected an algorithm of the "
       "operation, or ALGORITHM/SEGMENT_BYTES"},
      {"{\"tasuki_tuning\": 1,\n\"choices\": {\"bcast of 8 to 9 bytes among 4 ranks\": \"chain/0\"}}",
       "line 2: choices.bcast of 8 to 9 bytes among 4 ranks = \"chain/0\", expected an algorithm of the "
       "operation, or ALGORITHM/SEGMENT_BYTES"},
      {"{\"tasuki_tuning\": 1,\n\"choices\": {\"bcast of 8 to 9 bytes among 4 ranks\": 7}}",
       "line 2: choices.bcast of 8 to 9 bytes among 4 ranks = 7, expected an algorithm of the operation, or "
       "ALGORITHM/SEGMENT_BYTES"},
  };
  for (const auto& [text, reason] : cases) expect_refused(text, reason);
}

TEST(TableTest, WhatIsNoCaseIsRefusedWithTheFormOfOne) {
  for (const char* one : {
           "bcast among 4 ranks",
           "broadcast of 8 to 9 bytes among 4 ranks",
           "bcast of 9 to 8 bytes among 4 ranks",
           "bcast of 8 to 9 bytes among 0 ranks",
           "bcast of 8 to 9 bytes among 4 ranks on 3 nodes",
           "bcast of 8 to 9 bytes among 4 ranks on 8 nodes",
           "bcast of 8 to 9 bytes among 4 ranks on 1 nodes",
           "bcast of 8 to 9 bytes among 4 ranks on -2 nodes",
           "bcast of 8 to 9 bytes among 4 ranks on 2",
           "bcast of 8 to 9 bytes among 4 ranks on 2 hosts",
           "bcast of 8 to 9 bytes among 4 ranks on 2 nodes of 2",
       }) {
    const std::string text = one;
    expect_refused("{\"tasuki_tuning\": 1,\n\"choices\": {\"" + text + "\": \"chain\"}}",
                   "line 2: \"" + text +
                       "\" is no case: expected \"OPERATION of BYTES to BYTES bytes among N ranks\", and \" "
                       "on M nodes\" where N is a multiple of M, two or more");
  }
}

TEST(TableTest, MeasuredChoicesHoldForTheirCases) {
  Table table;
  std::string error;
  ASSERT_TRUE(parse_table(R"({"tasuki_tuning": 1, "choices": {
      "bcast of 1024 to 8191 bytes among 4 ranks": "chain/4096",
      "bcast of 8191 to 10000 bytes among 4 ranks": "binomial",
      "barrier of 0 to 0 bytes among 2 ranks": "dissemination"}})",
                          &table, &error))
      << error;
  ASSERT_EQ(table.choices.size(), 3U);
  Problem problem{.operation = Operation::kBcast, .size = 4, .bytes = 1024};
  problem.blocking = problem.node_segment = true;
  const auto algorithm = [&] {
    const MeasuredChoice* choice = measured_for(problem, table.choices);
    return choice == nullptr ? "" : algorithm_table()[static_cast<std::size_t>(choice->algorithm)].name;
  };
  EXPECT_STREQ(algorithm(), "chain");
  EXPECT_EQ(measured_for(problem, table.choices)->segment_bytes, 4096);
  problem.bytes = 8191;  // the first counts
  EXPECT_STREQ(algorithm(), "chain");
  problem.bytes = 8192;
  EXPECT_STREQ(algorithm(), "binomial");
  problem.bytes = 1023;
  EXPECT_STREQ(algorithm(), "");
  problem.bytes = 1024;
  problem.blocking = false;  // only blocking ones were measured
  EXPECT_STREQ(algorithm(), "");
  problem.blocking = true;
  problem.nodes = 2;
  EXPECT_STREQ(algorithm(), "");
  problem.nodes = 1;
  problem.size = 5;
  EXPECT_STREQ(algorithm(), "");
}

TEST(TableTest, ChoicesOnNodesHoldForEquallyManyRanksOnSoManyNodes) {
  Table table;
  std::string error;
  ASSERT_TRUE(parse_table(R"({"tasuki_tuning": 1, "choices": {
      "bcast of 8 to 4096 bytes among 8 ranks on 2 nodes": "chain/4096",
      "bcast of 8 to 4096 bytes among 8 ranks on 4 nodes": "binomial"}})",
                          &table, &error))
      << error;
  const auto algorithm = [&](const Problem& problem) {
    const MeasuredChoice* choice = measured_for(problem, table.choices);
    return choice == nullptr ? "" : algorithm_table()[static_cast<std::size_t>(choice->algorithm)].name;
  };
  Problem on_two{.operation = Operation::kBcast, .size = 8, .bytes = 1024, .blocking = true};
  on_two.nodes = 2;
  on_two.node_ranks_max = 4;
  EXPECT_STREQ(algorithm(on_two), "chain");
  EXPECT_EQ(measured_for(on_two, table.choices)->segment_bytes, 4096);
  Problem other = on_two;
  other.composed = true;
  EXPECT_STREQ(algorithm(other), "chain");
  other.nodes = 4;
  EXPECT_STREQ(algorithm(other), "") << "1 to 4 ranks each";
  other.node_ranks_max = 2;
  EXPECT_STREQ(algorithm(other), "binomial");
  other.nodes = 8;
  other.node_ranks_max = 1;
  EXPECT_STREQ(algorithm(other), "");
  other = on_two;
  other.node_ranks_max = 7;
  EXPECT_STREQ(algorithm(other), "") << "1 and 7 ranks";
  other = on_two;
  other.consecutive = false;
  EXPECT_STREQ(algorithm(other), "") << "dealt out to the nodes one by one";
  other = on_two;
  other.several_jobs = true;
  EXPECT_STREQ(algorithm(other), "") << "the others may have another table";
  other = on_two;
  other.blocking = false;
  EXPECT_STREQ(algorithm(other), "");
  other = on_two;
  other.nodes = 1;
  other.node_ranks_max = 8;
  other.node_segment = true;
  EXPECT_STREQ(algorithm(other), "");
}

TEST(TableTest, ATableSaysWhereItHolds) {
  Table table;
  std::string error;
  ASSERT_TRUE(parse_table(R"({"tasuki_tuning": 1, "made_on": {"processor": "a fast one", "processors": 4,
                              "library": "0.1"}})",
                          &table, &error))
      << error;
  EXPECT_EQ(foreign_by(table.made_on, {"a fast one", 4, "0.1"}), "");
  EXPECT_EQ(foreign_by(table.made_on, {"another", 4, "0.1"}),
            "it was made for \"a fast one\"; here: \"another\"");
  EXPECT_EQ(foreign_by(table.made_on, {"a fast one", 8, "0.2"}),
            "it was made for 4 processors, version 0.1; here: 8 processors, version 0.2");
  EXPECT_EQ(foreign_by({}, {"another", 8, "0.2"}), "") << "somebody wrote it by hand";
  EXPECT_EQ(foreign_by(this_machine(), this_machine()), "");
}

TEST(TableTest, AForeignFileIsRefusedUnlessAllowed) {
  const std::string path = own_file("foreign_table_test");
  std::ofstream(path) << R"({"tasuki_tuning": 1, "made_on": {"library": "none"}, "crowd": {"turn_ns": 3}})";
  Table table;
  std::string error;
  EXPECT_FALSE(load_table(path, false, &table, &error));
  EXPECT_NE(error.find(path + ": it was made for version none; here: version "), std::string::npos) << error;
  EXPECT_EQ(table.parameters.turn_ns, Parameters{}.turn_ns);
  EXPECT_TRUE(load_table(path, true, &table, &error)) << error;
  EXPECT_EQ(table.parameters.turn_ns, 3);
  std::remove(path.c_str());
}

TEST(TableTest, FilesAreReadAndRefusedByName) {
  const std::string path = own_file("tuning_table_test");
  std::ofstream(path) << "{\"tasuki_tuning\": 1, \"crowd\": {\"turn_ns\": 3}}";
  Table table;
  const Parameters& parameters = table.parameters;
  std::string error;
  EXPECT_TRUE(load_table(path, false, &table, &error)) << error;
  EXPECT_EQ(parameters.turn_ns, 3);
  std::ofstream(path) << "{\n\n\"crowd\": 3}";
  EXPECT_FALSE(load_table(path, false, &table, &error));
  EXPECT_EQ(error, path + ": line 3: crowd = 3, but there is no such parameter");
  std::ofstream(path) << std::string((64 << 10) + 1, ' ');
  EXPECT_FALSE(load_table(path, false, &table, &error));
  EXPECT_EQ(error, path + ": it is longer than 65536 bytes");
  std::remove(path.c_str());
  EXPECT_FALSE(load_table(path, false, &table, &error));
  EXPECT_EQ(error, path + ": No such file or directory");
  EXPECT_FALSE(load_table(testing::TempDir(), false, &table, &error));
  EXPECT_NE(error.find("directory"), std::string::npos) << error;
  EXPECT_EQ(parameters.turn_ns, 3);
}

}  // namespace
}  // namespace tasuki
