// Input files: the paper's example is read as it is meant, and whatever is wrong with one is told with its
// line and key, and with what was expected.
#include "input.hpp"

#include <gtest/gtest.h>

#include "error.hpp"
#include "text_file.hpp"

namespace spam {
namespace {

const std::string kGood =
    "[space]\n"                                   // line 1
    "width = 20.0\n"                              // 2
    "height = 10\n"                               // 3
    "cell_size = 3.1\n"                           // 4
    "boundary_x = [\"open\", \"mirror\"]\n"       // 5
    "boundary_y = \"periodic\"\n"                 // 6
    "[material]\n"                                // 7
    "range = 3.0\n"                               // 8
    "[initial]\n"                                 // 9
    "particles = 100\n"                           // 10
    "profile = [\n"                               // 11
    " { x = 0, density = 1, velocity = 0 },\n"    // 12
    " { x = 20, density = 2, velocity = -1 },\n"  // 13
    "]\n"                                         // 14
    "[integration]\n"                             // 15
    "time_step = 0.01\n"                          // 16
    "steps = 5\n";                                // 17

const std::string kGiven =
    kGood.substr(0, kGood.find("particles")) + kGood.substr(kGood.find("[integration]")) +
    "[[initial.particle]]\nx = 1.0\ny = 2.0\nvx = 0.5\n[[initial.particle]]\nx = 3\ny = 4\n";

std::string changed(const std::string& what, const std::string& into) {
  std::string text = kGood;
  const std::size_t place = text.find(what);
  EXPECT_NE(place, std::string::npos) << what;
  return text.replace(place, what.size(), into);
}

std::string error_of(const std::string& text, const std::vector<Override>& overrides = {}) {
  try {
    parse_input(text, "gas.toml", overrides);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Input, WhatIsWrittenIsRead) {
  const Settings settings = parse_input(kGood, "gas.toml");
  EXPECT_EQ(settings.file, "gas.toml");
  EXPECT_EQ(settings.space.width, 20);
  EXPECT_EQ(settings.space.height, 10);
  EXPECT_EQ(settings.space.x.low, Boundary::kOpen);
  EXPECT_EQ(settings.space.x.high, Boundary::kMirror);
  EXPECT_TRUE(settings.space.y.periodic());
  EXPECT_EQ(settings.material.mass, 1);
  EXPECT_EQ(settings.initial.particles, 100);
  ASSERT_EQ(settings.initial.profile.size(), 2u);
  EXPECT_EQ(settings.initial.profile[1].velocity, -1);
  EXPECT_EQ(settings.integration.steps, 5);
  EXPECT_EQ(settings.parallel.mapping, "balanced");
}

TEST(Input, ParticlesMayBeGivenOneByOne) {
  const Settings settings = parse_input(kGiven, "gas.toml");
  EXPECT_EQ(settings.initial.particles, 2);
  ASSERT_EQ(settings.initial.given.size(), 2u);
  EXPECT_EQ(settings.initial.given[0].vx, 0.5);
  EXPECT_EQ(settings.initial.given[1].y, 4);
}

TEST(Input, TheExamplesAreRead) {
  for (const char* name : {"paper", "shock", "two-particles"}) {
    const std::string file = std::string(SPAM_EXAMPLES) + "/" + name + ".toml";
    EXPECT_GT(parse_input(read_text(file), file).initial.particles, 0) << name;
  }
}

TEST(Input, TheCommandLineOverrides) {
  const Settings settings = parse_input(
      kGood, "gas.toml",
      {{"--steps", "integration.steps", std::int64_t{7}}, {"--engine", "parallel.engine", "list"}});
  EXPECT_EQ(settings.integration.steps, 7);
  EXPECT_EQ(settings.parallel.engine, Engine::kList);
  EXPECT_EQ(error_of(kGood, {{"--steps", "integration.steps", std::int64_t{-1}}}).substr(0, 13),
            "--steps: -1; ");
  EXPECT_EQ(error_of(kGood, {{"--engine", "parallel.engine", "paper"}}),
            "--engine: \"paper\"; expected blocked, list");
  EXPECT_EQ(error_of("parallel = 3\n" + kGood, {{"--engine", "parallel.engine", "list"}}),
            "gas.toml:1: parallel: 3; expected a table");
}

struct Case {
  const char *what, *into, *error;
};

class Wrong : public testing::TestWithParam<Case> {};

TEST_P(Wrong, IsToldWithItsLineAndKey) {
  EXPECT_EQ(error_of(changed(GetParam().what, GetParam().into)), std::string("gas.toml:") + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Input, Wrong,
    testing::Values(
        Case{"width", "widht", "2: space.widht: unknown key; did you mean width?"},
        Case{"time_step", "aeon", "16: integration.aeon: unknown key; expected time_step, steps"},
        Case{"[material]", "[metarial]", "7: metarial: unknown table; did you mean material?"},
        Case{"width = 20.0", "", "1: space.width: missing"},
        Case{"[space]", "",
             "2: width: unknown key; expected space, material, initial, integration, parallel, output"},
        Case{"20.0", "\"20\"", "2: space.width: \"20\"; expected a number above 0"},
        Case{"20.0", "-20", "2: space.width: -20; expected a number above 0"},
        Case{"20.0", "nan", "2: space.width: nan; expected a number above 0"},
        Case{"20.0", "inf", "2: space.width: inf; expected a number above 0"},
        Case{"20.0", "2.0", "2: space.width: 2; expected at least cell_size, 3.1"},
        Case{"10\n", "2.5\n", "3: space.height: 2.5; expected at least material.range, 3"},
        Case{"3.1", "2.9", "4: space.cell_size: 2.9; expected at least material.range, 3"},
        Case{"range = 3.0", "range = -3.0", "8: material.range: -3; expected a number above 0"},
        Case{"\"open\", \"mirror\"", "\"open\"",
             "5: space.boundary_x: 1 ends; expected two, or one word for both"},
        Case{"\"mirror\"", "\"wall\"", "5: space.boundary_x: \"wall\"; expected open, mirror, periodic"},
        Case{"\"mirror\"", "\"periodic\"",
             "5: space.boundary_x: periodic at one end alone; expected both ends periodic, or none"},
        Case{"= 100", "= 0", "10: initial.particles: 0; expected a whole number from 1 to 2000000000"},
        Case{"= 100", "= 1e2", "10: initial.particles: 100; expected a whole number from 1 to 2000000000"},
        Case{"density = 2", "density = 0",
             "13: initial.profile[1].density: 0; expected a number above 0 and at most 1e+100"},
        Case{"x = 20", "x = 21",
             "13: initial.profile[1].x: 21; expected a number of at least 0 and at most 20"},
        Case{"x = 20", "x = 0",
             "13: initial.profile[1].x: 0; expected more than that of the point before, 0"},
        Case{" { x = 20, density = 2, velocity = -1 },\n", "",
             "11: initial.profile: 1 points; expected at least 2"},
        Case{"velocity = -1", "velocity = true", "13: initial.profile[1].velocity: true; expected a number"},
        Case{"[integration]", "[[initial.particle]]\nx = 1\ny = 1\n[integration]",
             "10: initial.particles: beside initial.particle; expected either of them"},
        Case{"0.01", "0", "16: integration.time_step: 0; expected a number above 0"},
        Case{"steps = 5", "steps = 5\n[parallel]\nupdate = 'atomic'",
             "19: parallel.update: \"atomic\"; expected critical, reduction, none"},
        Case{"steps = 5", "steps = 5\n[output]\nenergy_tolerance = 0.0",
             "19: output.energy_tolerance: 0; expected a number above 0"},
        Case{"3.1", "1e-300", "4: space.cell_size: 1e-300; expected at least material.range, 3"}));

TEST(Input, WhatIsNotTomlIsToldWithItsLine) {
  EXPECT_EQ(error_of(changed("height = 10", "height == 10")).substr(0, 31),
            "gas.toml:3: this is not TOML: E");
  EXPECT_EQ(error_of(changed("height = 10", "width = 10")).substr(0, 30), "gas.toml:3: this is not TOML: ");
  EXPECT_EQ(error_of(""), "gas.toml:1: space: missing");
}

TEST(Input, AMappingIsCheckedWithItsLine) {
  EXPECT_EQ(error_of(kGood + "[parallel]\nmapping = \"cylic(4)\"").substr(0, 30),
            "gas.toml:19: parallel.mapping:");
}

TEST(Input, AnErrorIsOneLine) {
  EXPECT_EQ(error_of(changed("20.0", "\"20\\n\\u001b[2J\"")),
            "gas.toml:2: space.width: \"20  [2J\"; expected a number above 0");
  EXPECT_EQ(error_of(changed("20.0", "t\n")).find('\n'), std::string::npos);
}

TEST(Input, TooManyCellsAreRefused) {
  EXPECT_NE(error_of(changed("20.0", "1e15")).find("4: space.cell_size: 3.1 makes 1.36e+15 cells"),
            std::string::npos);
}

TEST(Input, AFileThatIsNotThereIsNamed) {
  for (const char* file : {"/nowhere/gas.toml", "/"}) {
    try {
      read_text(file);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).rfind(std::string(file) + ": cannot be read: ", 0), 0u)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace spam
