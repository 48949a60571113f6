// Input that users, scripts and broken files give mpiexec and the library: command lines, settings and tables
// with noise in them are taken or refused with one line, and never break anything.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/variables/config.hpp"
#include "base/variables/settings.hpp"
#include "launch/options/options.hpp"
#include "tuning/table.hpp"

namespace tasuki::launch {
namespace {

using Random = std::mt19937_64;

std::string noise(Random& random, std::size_t bytes_max) {
  std::string text(random() % (bytes_max + 1), '\0');
  for (char& byte : text) byte = static_cast<char>(1 + random() % 255);  // a word has no NUL
  return text;
}

/// A number at the edge of what a parser expects, or noise.
std::string value(Random& random) {
  static const std::vector<std::string> values = {"0",
                                                  "1",
                                                  "-1",
                                                  "2147483647",
                                                  "2147483648",
                                                  "1e308",
                                                  "nan",
                                                  "inf",
                                                  "0x10",
                                                  "4294967296",
                                                  "9223372036854775808",
                                                  "",
                                                  " ",
                                                  ",",
                                                  "1,2,,3",
                                                  "1-",
                                                  "1-2-3",
                                                  "65537",
                                                  "1:2",
                                                  "=",
                                                  "a=b"};
  return random() % 3 == 0 ? noise(random, 30) : values[random() % values.size()];
}

TEST(RandomInput, CommandLinesAreTakenOrRefusedInOneLine) {
  static const std::vector<std::string> words = {"-n",
                                                 "--np",
                                                 "-x",
                                                 "-genv",
                                                 "-env",
                                                 "--nodes",
                                                 "--bind-to",
                                                 "--map-by",
                                                 "--timeout",
                                                 "--stats",
                                                 "--stats=json",
                                                 "-host",
                                                 "--hostfile",
                                                 "-wdir",
                                                 "--path",
                                                 "--output",
                                                 "--stdin",
                                                 "-usize",
                                                 "--doctor",
                                                 "--stall",
                                                 "--job",
                                                 "--info",
                                                 "--verbose",
                                                 ":",
                                                 "--",
                                                 "-",
                                                 "-configfile",
                                                 "--mca",
                                                 "program",
                                                 "--merge",
                                                 "-l",
                                                 "--tag-output",
                                                 "--network-latency",
                                                 "--serve-spawns"};
  Random random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::string> line;
    const std::size_t count = random() % 9;
    for (std::size_t i = 0; i < count; ++i) {
      std::string word = random() % 3 == 0 ? value(random) : words[random() % words.size()];
      if (random() % 10 == 0) word += "=" + value(random);
      line.push_back(std::move(word));
    }
    Options options;
    std::string error;
    if (parse_options(line, &options, &error)) {
      EXPECT_LE(options.ranks(), kRanksMax);
      continue;
    }
    EXPECT_FALSE(error.empty());
  }
}

TEST(RandomInput, SettingsAreTakenOrToldOf) {
  Random random(2);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> entries;
    for (const Setting& setting : settings()) {
      if (random() % 4 == 0) entries.push_back(std::string(setting.name) + "=" + value(random));
    }
    entries.push_back("TASUKI_" + noise(random, 20));
    std::vector<const char*> environment;
    for (const std::string& entry : entries) environment.push_back(entry.c_str());
    environment.push_back(nullptr);
    Config config;
    std::string error;
    std::string warning;
    if (!read_settings(environment.data(), &config, &error, &warning)) {
      EXPECT_FALSE(error.empty());
    }
  }
}

TEST(RandomInput, TablesOfParametersAreTakenOrRefused) {
  const std::string table = R"({"machine": "a big one", "written": "yesterday", "tasuki_tuning": 1,
      "messages": {"cache": {"latency_ns": 12.5, "software_ns": 30}, "network": {"latency_ns": 1e3}},
      "choices": {"bcast of 8 to 512 bytes among 4 ranks": "chain/4096"},
      "made_on": {"processor": "a fast one", "processors": 4, "library": "0.1"}, "stage": {"flag_ns": 1e2}})";
  Table sound;
  std::string why;
  ASSERT_TRUE(parse_table(table, &sound, &why)) << why;
  Random random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string text = round % 10 == 0 ? noise(random, 400) : table;
    for (std::size_t flips = random() % 6; flips > 0 && !text.empty(); --flips) {
      const std::size_t place = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[place] ^= static_cast<char>(1 << random() % 8);
          break;
        case 1:
          text.erase(place, 1 + random() % 20);
          break;
        default:
          text.insert(place, random() % 2 == 0 ? value(random) : std::string(200, "[{\"-9."[random() % 6]));
      }
    }
    Table read;
    const Parameters before = read.parameters;
    std::string error;
    if (parse_table(text, &read, &error)) continue;
    EXPECT_FALSE(error.empty());
    for (const ParameterRow& row : parameter_table()) {
      Parameters old = before;
      EXPECT_EQ(row.field(read.parameters), row.field(old)) << "a table that is refused changes nothing";
    }
  }
  // Brackets without end must not exhaust the stack.
  Table read;
  std::string error;
  EXPECT_FALSE(parse_table(std::string(1 << 20, '['), &read, &error));
  EXPECT_FALSE(parse_table("{\"a\":" + std::string(1 << 20, '{'), &read, &error));
}

}  // namespace
}  // namespace tasuki::launch
