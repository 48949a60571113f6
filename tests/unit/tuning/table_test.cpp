// The file of parameters: what is taken, and the words with which every kind of bad table is refused.
#include "tuning/table.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <string>

namespace tasuki {
namespace {

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
    Parameters read;
    std::string error;
    ASSERT_TRUE(parse_parameters(open + "\": 77" + close, &read, &error)) << error;
    EXPECT_EQ(row.field(read), 77) << row.path;
  }
  EXPECT_EQ(fields.size() * sizeof(double), sizeof(Parameters)) << "a parameter has no line in the table";
}

TEST(TableTest, WhatIsNotNamedStays) {
  Parameters parameters;
  std::string error;
  ASSERT_TRUE(parse_parameters(R"({"machine": "a big one", "written": "yesterday", "tasuki_tuning": 1,
      "messages": {"cache": {"latency_ns": 12.5}, "network": {}}, "stage": {"flag_ns": 1e2}})",
                               &parameters, &error))
      << error;
  EXPECT_EQ(parameters.cache.latency_ns, 12.5);
  EXPECT_EQ(parameters.flag_ns, 100);
  EXPECT_EQ(parameters.cache.software_ns, Parameters{}.cache.software_ns);
  EXPECT_EQ(parameters.network.latency_ns, Parameters{}.network.latency_ns);
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
      {"{\"tasuki_tuning\": 1,\n\"stage\": {\n\"flag\": 1}}",
       "line 3: stage.flag = 1, but there is no such parameter"},
      {"{\"tasuki_tuning\": 1,\n\"stage\": 5}", "line 2: stage = 5, but there is no such parameter"},
      {"{\"tasuki_tuning\": 1,\n\"stage\": {\n\"flag_ns\": -1\n}}",
       "line 3: stage.flag_ns = -1, expected a number from 0 to 1e+09"},
      {"{\"tasuki_tuning\": 1,\n\"stage\": {\"flag_ns\": \"fast\"}}",
       "line 2: stage.flag_ns = \"fast\", expected a number from 0 to 1e+09"},
      {"{\"tasuki_tuning\": 1,\n\"stage\": {\"flag_ns\": [1]}}",
       "line 2: stage.flag_ns = an array, expected a number from 0 to 1e+09"},
      {"{\"tasuki_tuning\": 1,\n\"stage\": {\"flag_ns\": {}}}",
       "line 2: stage.flag_ns is no group of parameters"},
      {"{\"tasuki_tuning\": 1,\n\"stage\": {\"flag_ns\": true}}",
       "line 2: stage.flag_ns = true, expected a number from 0 to 1e+09"},
      {"{\"tasuki_tuning\": 1,\n\"stage\": {\"flag_ns\": 1,\n\"flag_ns\": 2}}",
       "line 3: stage.flag_ns is there twice"},
      {"{\"tasuki_tuning\": 1,\n\"stage\": {\"flag_ns\": 1},\n\"stage\": {}}",
       "line 3: stage is there twice"},
      {"{\"tasuki_tuning\": 1,\n\"memory\": {\"node_bytes_per_ns\": 0}}",
       "line 2: memory.node_bytes_per_ns = 0, expected a number from 1e-06 to 1e+06"},
      {"{\"tasuki_tuning\": 1,\n\"stage\": {\"flag_ns\": 1e999}}", "line 2: no JSON at \"1e999\""},
      {"{\"tasuki_tuning\": 1,\n\"machine\": 5}", "line 2: machine = 5, expected a text"},
      {"{\"tasuki_tuning\": 1,\n\"stage\": {\"flag_ns\": 1}", "line 2: no JSON at \"1}\""},
      {"{\"tasuki_tuning\": 1} x", "line 1: no JSON at \"1} x\""},
  };
  for (const auto& [text, reason] : cases) {
    Parameters parameters;
    parameters.turn_ns = 4711;
    std::string error;
    EXPECT_FALSE(parse_parameters(text, &parameters, &error)) << text;
    EXPECT_EQ(error, reason) << text;
    EXPECT_EQ(parameters.flag_ns, Parameters{}.flag_ns) << text;
    EXPECT_EQ(parameters.turn_ns, 4711) << text;
  }
}

TEST(TableTest, FilesAreReadAndRefusedByName) {
  const std::string path = testing::TempDir() + "tuning_table_test.json";
  std::ofstream(path) << "{\"tasuki_tuning\": 1, \"crowd\": {\"turn_ns\": 3}}";
  Parameters parameters;
  std::string error;
  EXPECT_TRUE(load_parameters(path, &parameters, &error)) << error;
  EXPECT_EQ(parameters.turn_ns, 3);
  std::ofstream(path) << "{\n\n\"crowd\": 3}";
  EXPECT_FALSE(load_parameters(path, &parameters, &error));
  EXPECT_EQ(error, path + ": line 3: crowd = 3, but there is no such parameter");
  std::ofstream(path) << std::string((64 << 10) + 1, ' ');
  EXPECT_FALSE(load_parameters(path, &parameters, &error));
  EXPECT_EQ(error, path + ": it is longer than 65536 bytes");
  std::remove(path.c_str());
  EXPECT_FALSE(load_parameters(path, &parameters, &error));
  EXPECT_EQ(error, path + ": No such file or directory");
  EXPECT_FALSE(load_parameters(testing::TempDir(), &parameters, &error));
  EXPECT_NE(error.find("directory"), std::string::npos) << error;
  EXPECT_EQ(parameters.turn_ns, 3);
}

}  // namespace
}  // namespace tasuki
