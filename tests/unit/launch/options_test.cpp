// The command line of mpiexec: what users of other launchers write is understood, and what is wrong is told
// in one line that names it.
#include "launch/options/options.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tasuki::launch {
namespace {

using Words = std::vector<std::string>;

Options parsed(const Words& words) {
  Options options;
  std::string error;
  EXPECT_TRUE(parse_options(words, &options, &error)) << error;
  return options;
}

std::string error_of(const Words& words) {
  Options options;
  std::string error;
  EXPECT_FALSE(parse_options(words, &options, &error));
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  return error;
}

TEST(Options, RanksInEverySpelling) {
  for (const Words& count :
       {Words{"-n", "4"}, Words{"-np", "4"}, Words{"--np", "4"}, Words{"--n=4"}, Words{"-c", "4"}}) {
    Words words = count;
    words.insert(words.end(), {"./a", "-n", "7"});
    const Options options = parsed(words);
    ASSERT_EQ(options.applications.size(), 1u);
    EXPECT_EQ(options.applications[0].ranks, 4);
    EXPECT_EQ(options.applications[0].command, (Words{"./a", "-n", "7"}));
  }
  EXPECT_EQ(parsed({"./a"}).ranks(), 1);
}

TEST(Options, WithoutANumberEachSlotHasARank) {
  EXPECT_EQ(parsed({"--host", "a:2,b:3", "./a"}).ranks(), 5);
  EXPECT_EQ(parsed({"--host", "a,b", "./a"}).ranks(), 2);
  EXPECT_EQ(parsed({"--host", "a,b,a", "./a"}).ranks(), 3);
  EXPECT_EQ(parsed({"--host", "a:2,b:3", "--ppn", "4", "./a"}).ranks(), 8);
  EXPECT_EQ(parsed({"--host", "a:2,b:3", "-n", "1", "./a"}).ranks(), 1);
  EXPECT_EQ(parsed({"--host", "a:2,b:3", "./a", ":", "./b"}).ranks(), 2) << "of several one each";
  EXPECT_EQ(parsed({"--host", "a:2,b:3", "--stdin", "4", "./a"}).stdin_rank, 4);
  EXPECT_NE(error_of({"--host", "a:65536,b", "./a"}).find("65537 slots"), std::string::npos);
}

TEST(Options, ApplicationsHaveTheirOwnOptions) {
  const Options options = parsed({"-genv", "G",  "1", "-n",   "1", "-wdir", "/tmp", "-x",  "A=1",    "boss",
                                  ":",     "-n", "3", "-env", "B", "2",     "-env", "C=3", "worker", "-v"});
  ASSERT_EQ(options.applications.size(), 2u);
  EXPECT_EQ(options.ranks(), 4);
  EXPECT_EQ(options.applications[0].directory, "/tmp");
  ASSERT_EQ(options.applications[0].environment.size(), 1u);
  EXPECT_EQ(options.applications[0].environment[0].name, "A");
  EXPECT_EQ(options.applications[1].directory, "");
  ASSERT_EQ(options.applications[1].environment.size(), 2u);
  EXPECT_EQ(options.applications[1].environment[0].value, "2");
  EXPECT_EQ(options.applications[1].environment[1].value, "3");
  EXPECT_EQ(options.applications[1].command, (Words{"worker", "-v"}));
  ASSERT_EQ(options.environment.size(), 1u);
  EXPECT_FALSE(options.verbose);
}

TEST(Options, ExportsVariablesOfItsOwn) {
  setenv("TASUKI_TEST_EXPORTED", "here", 1);
  const Options options =
      parsed({"-x", "TASUKI_TEST_EXPORTED", "-x", "TASUKI_TEST_NOT_SET", "-envnone", "a"});
  ASSERT_EQ(options.applications[0].environment.size(), 1u);
  EXPECT_EQ(options.applications[0].environment[0].value, "here");
  EXPECT_EQ(options.applications[0].inherit, Inherit::kNone);
  EXPECT_EQ(parsed({"-envlist", "A,B", "a"}).applications[0].inherited, (Words{"A", "B"}));
}

TEST(Options, AcceptsWhatOtherLaunchersNeed) {
  const Options options = parsed({"--allow-run-as-root", "--oversubscribe", "-host", "localhost:4,127.0.0.1",
                                  "--bind-to", "core:overload-allowed", "--map-by", "socket:NOOVERSUBSCRIBE",
                                  "-ppn", "4", "-iface", "eth1", "-n", "2", "a"});
  EXPECT_EQ(options.bind_to, BindTo::kCore);
  EXPECT_EQ(options.map_by, MapBy::kSocket);
  EXPECT_EQ(options.ranks(), 2);
  EXPECT_TRUE(options.fills_slots_only);
  ASSERT_EQ(options.environment.size(), 1u);
  EXPECT_EQ(options.environment[0].name + "=" + options.environment[0].value, "TASUKI_NET_INTERFACE=eth1");
  EXPECT_EQ(parsed({"--launcher", "rsh", "a"}).starter.name(), "rsh");
}

TEST(Options, NamesParametersOfOpenMpi) {
  const Options options = parsed({"--mca", "btl", "self", "-prtemca", "plm", "ssh", "a"});
  EXPECT_EQ(options.foreign, (Words{"--mca btl", "-prtemca plm"}));
  EXPECT_EQ(options.applications[0].command, (Words{"a"}));
}

TEST(Options, RefusesWhatItWouldNotDo) {
  for (const char* option : {"--no-local", "-nolocal", "-disable-auto-cleanup", "-localhost"})
    EXPECT_NE(error_of({option, "x", "a"}).find(std::string("option ") + option + ": "), std::string::npos);
  EXPECT_NE(error_of({"--map-by", "socket:PE=2", "a"}).find("the modifier pe=2 is unknown"),
            std::string::npos);
  EXPECT_EQ(error_of({"--map-by", "socket", "--rank-by", "core", "a"}),
            "--map-by and --rank-by differ: ranks are numbered as they are mapped here");
  EXPECT_EQ(parsed({"--rank-by", "node", "--map-by", "node", "a"}).node_order, NodeOrder::kCyclic);
  EXPECT_NE(error_of({"-rmk", "user", "a"}).find("expected slurm, pbs, lsf or sge"), std::string::npos);
  const auto no_variable = [](const char*) -> const char* { return nullptr; };
  const auto no_file = [](const std::string&, std::string*) { return false; };
  Options options = parsed({"-rmk", "pbs", "a"});
  std::string error;
  EXPECT_FALSE(take_allocation(no_variable, no_file, &options, &error));
  EXPECT_EQ(error, "-rmk PBS: this is no job of PBS");
}

TEST(Options, WhatHoldsForAllProgramsIsNoMatterOfPlace) {
  const Options options = parsed({"-genvlist", "A,B", "a", ":", "-envall", "b", ":", "-envnone", "c"});
  ASSERT_EQ(options.applications.size(), 3u);
  EXPECT_EQ(options.applications[0].inherited, (Words{"A", "B"}));
  EXPECT_EQ(options.applications[1].inherit, Inherit::kAll);
  EXPECT_EQ(options.applications[2].inherit, Inherit::kNone);
  EXPECT_EQ(parsed({"a", ":", "-genvnone", "b"}).applications[0].inherit, Inherit::kNone);
}

TEST(Options, Path) {
  const Options options = parsed({"-path", "x:/y", "a", ":", "--path=z", "b", ":", "c"});
  EXPECT_EQ(options.applications[0].path, "x:/y");
  EXPECT_EQ(options.applications[1].path, "z");
  EXPECT_EQ(options.applications[2].path, "");
  EXPECT_EQ(error_of({"--path=", "a"}), "--path: expected folders, separated by ':'");
}

TEST(Options, OutputAndInput) {
  EXPECT_TRUE(parsed({"-l", "a"}).labels);
  EXPECT_EQ(parsed({"--output-filename", "out", "a"}).output_directory, "out");
  EXPECT_EQ(parsed({"--output-filename", "out.%r", "a"}).error_pattern, "out.%r");
  EXPECT_EQ(parsed({"-outfile-pattern=o.%r", "a"}).output_pattern, "o.%r");
  EXPECT_EQ(parsed({"--stdin", "none", "a"}).stdin_rank, kNoRank);
  EXPECT_EQ(parsed({"--stdin", "1", "-n", "2", "a"}).stdin_rank, 1);
  EXPECT_DOUBLE_EQ(parsed({"--timeout", "0.5", "a"}).timeout_seconds, 0.5);
}

TEST(Options, BadValuesAreNamedWithWhatWasExpected) {
  EXPECT_EQ(error_of({"-n", "0", "a"}), "-n 0: expected a number from 1 to 65536");
  EXPECT_EQ(error_of({"-n", "two", "a"}), "-n two: expected a number from 1 to 65536");
  EXPECT_EQ(error_of({"-n", "4x", "a"}), "-n 4x: expected a number from 1 to 65536");
  EXPECT_EQ(error_of({"-n", "99999999999999999999", "a"}),
            "-n 99999999999999999999: expected a number from 1 to 65536");
  EXPECT_EQ(error_of({"-n"}), "option -n needs N");
  EXPECT_EQ(error_of({"--timeout", "nan", "a"}), "--timeout nan: expected a number of seconds above 0");
  EXPECT_EQ(error_of({"--stdin", "2", "-n", "2", "a"}), "--stdin 2: expected a rank below 2, or none");
  EXPECT_EQ(error_of({"--bind-to", "moon", "a"}),
            "--bind-to moon: expected share, none, hwthread, core, numa or socket");
  EXPECT_EQ(error_of({"--verbose=yes", "a"}), "option --verbose takes no value");
  EXPECT_NE(error_of({"-outfile-pattern", "o", "a"}).find("expected %r"), std::string::npos);
  EXPECT_NE(error_of({"-host", "other:x", "a"}).find("'other:x'"), std::string::npos);
  EXPECT_NE(error_of({"-n", "60000", "a", ":", "-n", "60000", "b"}).find("too many ranks"),
            std::string::npos);
}

TEST(Options, UnknownOptionsGetANearOne) {
  EXPECT_EQ(error_of({"--timeot", "3", "a"}), "unknown option --timeot; did you mean --timeout?");
  EXPECT_EQ(error_of({"--zzzzzzzz", "a"}), "unknown option --zzzzzzzz; mpiexec --help lists all");
}

TEST(Options, NoProgram) {
  const std::string none = "no program is given to start; mpiexec --help shows how";
  EXPECT_EQ(error_of({}), none);
  EXPECT_EQ(error_of({"-n", "2"}), none);
  EXPECT_EQ(error_of({"a", ":", "-n", "2"}), none);
  EXPECT_EQ(error_of({":", "a"}), none);
}

TEST(Options, HelpTeachesEveryShownOption) {
  EXPECT_TRUE(parsed({"--help"}).help);
  const std::string help = help_text();
  for (const char* word :
       {"-np", "-wdir", "--timeout", "--bind-to", "-configfile", "--report-bindings", "127"}) {
    EXPECT_NE(help.find(word), std::string::npos) << word;
  }
}

class ApplicationFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "appfileXXXXXX";
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ + "/apps";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& text) { std::ofstream(path_) << text; }

  std::string directory_;
  std::string path_;
};

TEST_F(ApplicationFile, EachLineIsAnApplication) {
  write("# comment\n\n-n 1 ./boss \"two words\" 'a\\b' c\\ d # more\n-n 2 \\\n  ./worker ''");
  const Options options = parsed({"-l", "-configfile", path_});
  EXPECT_EQ(parsed({"-configfile", path_, ":", "-n", "4", "c"}).ranks(), 7);
  EXPECT_EQ(parsed({"-configfile", path_, "c", ":", "d"}).ranks(), 5);
  ASSERT_EQ(options.applications.size(), 2u);
  EXPECT_EQ(options.applications[0].command, (Words{"./boss", "two words", "a\\b", "c d"}));
  EXPECT_EQ(options.applications[1].command, (Words{"./worker", ""}));
  EXPECT_EQ(options.ranks(), 3);
}

TEST_F(ApplicationFile, ErrorsNameFileAndLine) {
  write("-n 1 a\n-n x b\n");
  EXPECT_EQ(error_of({"--app", path_}), path_ + ", line 2: -n x: expected a number from 1 to 65536");
  write("a\n");
  EXPECT_NE(error_of({"-n", "2", "--app", path_}).find("write them into the file"), std::string::npos);
  EXPECT_NE(error_of({"--app", path_, "-wdir", "/"}).find("write them into the file"), std::string::npos);
  write("-n 1 'a\n");
  EXPECT_EQ(error_of({"--appfile", path_}), path_ + ", line 1: a quote is not closed");
  write("-configfile other\n");
  EXPECT_NE(error_of({"--app", path_}).find("cannot name another"), std::string::npos);
  write("\n# nothing\n");
  EXPECT_NE(error_of({"--app", path_}).find("names no program"), std::string::npos);
}

TEST_F(ApplicationFile, Unreadable) {
  EXPECT_EQ(error_of({"--app", path_}),
            "cannot read the application file '" + path_ + "': No such file or directory");
  EXPECT_EQ(error_of({"--app", directory_}),
            "cannot read the application file '" + directory_ + "': Is a directory");
}

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", "abc"), 0);
  EXPECT_EQ(edit_distance("timeot", "timeout"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Options, Nodes) {
  EXPECT_EQ(parsed({"-n", "4", "a"}).nodes, 1);
  EXPECT_EQ(parsed({"-n", "4", "--nodes", "3", "a"}).nodes, 3);
  EXPECT_EQ(parsed({"--nodes=3", "-n", "2", "a", ":", "-n", "1", "b"}).nodes, 3);
  EXPECT_EQ(parsed({"--nodes=4", "-n", "2", "a", ":", "-n", "1", "b"}).nodes, 4);  // one for each rank
  EXPECT_NE(error_of({"-n", "4", "--nodes", "0", "a"}).find("from 1"), std::string::npos);
  EXPECT_EQ(parsed({"-n", "4", "a"}).node_order, NodeOrder::kBlock);
  EXPECT_EQ(parsed({"-n", "4", "--map-by", "slot", "a"}).node_order, NodeOrder::kBlock);
  EXPECT_EQ(parsed({"-n", "4", "--map-by", "node", "a"}).node_order, NodeOrder::kCyclic);
  const Options slow = parsed(
      {"--network-latency", "1.5us", "--network-bandwidth=400MB/s", "--network-node-bandwidth=1GB/s", "a"});
  ASSERT_EQ(slow.environment.size(), 3u);
  EXPECT_EQ(slow.environment[0].name + "=" + slow.environment[0].value, "TASUKI_NETWORK_LATENCY_NS=1500");
  EXPECT_EQ(slow.environment[1].name + "=" + slow.environment[1].value, "TASUKI_NETWORK_MB_PER_SECOND=400");
  EXPECT_EQ(slow.environment[2].name + "=" + slow.environment[2].value,
            "TASUKI_NETWORK_NODE_MB_PER_SECOND=1000");
}

TEST(Options, NodesOfTheEnvironment) {
  std::string error;
  Options four = parsed({"-n", "4", "a"});
  EXPECT_TRUE(take_nodes("3", &four, &error));
  EXPECT_EQ(four.nodes, 3);
  Options given = parsed({"-n", "4", "--nodes", "1", "a"});
  EXPECT_TRUE(take_nodes("3", &given, &error));
  EXPECT_EQ(given.nodes, 1) << "the command line comes first";
  EXPECT_TRUE(take_nodes(nullptr, &four, &error));
  EXPECT_TRUE(take_nodes("", &four, &error));
  EXPECT_EQ(four.nodes, 3);
  for (const char* bad : {"0", "-2", "2 ", "two", "1e3", "99999999999999999999"})
    EXPECT_FALSE(take_nodes(bad, &four, &error)) << bad;
  EXPECT_EQ(four.nodes, 3);
}

TEST(Options, TheDoctor) {
  EXPECT_EQ(parsed({"a"}).doctor, DoctorForm::kUnasked);
  EXPECT_EQ(parsed({"--doctor", "a"}).doctor, DoctorForm::kText);
  EXPECT_EQ(parsed({"--doctor=json", "a"}).doctor, DoctorForm::kJson);
  EXPECT_FALSE(parsed({"--doctor", "a"}).visits());
  EXPECT_EQ(parsed({"--stall", "2.5", "a"}).stall_seconds, 2.5);
  EXPECT_EQ(parsed({"--stall=0", "a"}).stall_seconds, 0);
  EXPECT_TRUE(parsed({"--end-on-deadlock", "a"}).end_on_deadlock);
  EXPECT_EQ(error_of({"--doctor=xml", "a"}), "--doctor=xml: expected text or json");
  for (const char* bad : {"soon", "-1", "", "nan", "inf", "1e10", "0x", "-0x"}) {
    EXPECT_NE(error_of({"--stall", bad, "a"}).find("expected a number of seconds, 0 for never"),
              std::string::npos)
        << bad;
  }
}

TEST(Options, Top) {
  EXPECT_FALSE(parsed({"a"}).top);
  EXPECT_TRUE(parsed({"--top", "a"}).top);
  EXPECT_FALSE(parsed({"--top", "a"}).visits());
  EXPECT_TRUE(parsed({"--top", "--doctor", "a"}).top);
  EXPECT_TRUE(parsed({"--top"}).visits());
  EXPECT_EQ(parsed({"--top", "--job", "17"}).job_pid, 17);
  EXPECT_EQ(error_of({"--top", "--doctor"}), "--doctor and --top without a program: expected one of them");
  EXPECT_NE(error_of({"--top", "-n", "4"}).find("no program is given"), std::string::npos);
}

TEST(Options, TheDoctorVisitsAJobThatRuns) {
  EXPECT_TRUE(parsed({"--doctor"}).visits());
  EXPECT_TRUE(parsed({"--doctor=json", "--job", "17"}).visits());
  EXPECT_EQ(parsed({"--job", "17", "--doctor"}).job_pid, 17);
  EXPECT_NE(error_of({"--doctor", "-n", "4"}).find("no program is given"), std::string::npos);
  EXPECT_NE(error_of({"--doctor", "--job", "17", "a"}).find("--job 17: names a job that runs"),
            std::string::npos);
  EXPECT_NE(error_of({"--job", "17"}).find("no program is given"), std::string::npos);
  EXPECT_NE(error_of({"--doctor", "--job", "0"}).find("--job 0: expected a number from 1"),
            std::string::npos);
}

TEST(Options, TheDoctorByVariables) {
  Options options = parsed({"a"});
  std::string error;
  EXPECT_TRUE(take_doctor(nullptr, nullptr, nullptr, &options, &error));
  EXPECT_EQ(options.stall_seconds, kStallDefault);
  EXPECT_FALSE(options.end_on_deadlock);
  options = parsed({"a"});
  EXPECT_TRUE(take_doctor("json", "3", "1", &options, &error));
  EXPECT_EQ(options.doctor, DoctorForm::kJson);
  EXPECT_EQ(options.stall_seconds, 3);
  EXPECT_TRUE(options.end_on_deadlock);
  options = parsed({"--doctor", "--stall", "0", "a"});
  EXPECT_TRUE(take_doctor("json", "3", "0", &options, &error)) << "the command line comes first";
  EXPECT_EQ(options.doctor, DoctorForm::kText);
  EXPECT_EQ(options.stall_seconds, 0);
  options = parsed({"a"});
  EXPECT_FALSE(take_doctor("yes", nullptr, nullptr, &options, &error));
  EXPECT_EQ(error, "TASUKI_DOCTOR = \"yes\", expected text or json");
  options = parsed({"a"});
  EXPECT_FALSE(take_doctor(nullptr, "long", nullptr, &options, &error));
  EXPECT_EQ(error, "TASUKI_STALL_SECONDS = \"long\", expected a number of seconds, 0 for never");
  options = parsed({"a"});
  EXPECT_FALSE(take_doctor(nullptr, nullptr, "2", &options, &error));
  EXPECT_EQ(error, "TASUKI_END_ON_DEADLOCK = \"2\", expected 0 or 1");
}

}  // namespace
}  // namespace tasuki::launch
