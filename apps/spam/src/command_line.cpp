// Options are a table: each stands for a key of the input file, which checks their values (document.hpp).
#include "command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "mapping.hpp"

namespace spam {
namespace {

constexpr int kUsageStatus = 2;

struct Tool {
  const char *name, *about;
};
constexpr std::array kTools = {
    Tool{"sweep", "run the grid of options, and write the paper's tables and figures"},
    Tool{"picture", "draw the last state of a run"},
    Tool{"film", "make a film of a run's snapshots"},
    Tool{"shock", "measure a shock in front of a wall, beside the Rankine-Hugoniot relations"},
};

/// An option that stands for a key of the input file.
struct KeyOption {
  const char *option, *key, *about;
  bool number;
};
constexpr std::array kKeyOptions = {
    KeyOption{"--steps", "integration.steps", "end after this step", true},
    KeyOption{"--engine", "parallel.engine", "blocked, or list: the paper's", false},
    KeyOption{"--mapping", "parallel.mapping", "which rank owns which columns; see below", false},
    KeyOption{"--remap-interval", "parallel.remap_interval", "steps between two remappings; 0: none", true},
    KeyOption{"--halo", "parallel.halo", "messages, or shared: windows within a node", false},
    KeyOption{"--threads", "parallel.threads", "of each rank; 0: OMP_NUM_THREADS, or 1", true},
    KeyOption{"--schedule", "parallel.schedule", "list: static, cyclic, dynamic", false},
    KeyOption{"--update", "parallel.update", "list: critical, reduction, none (wrong, --unsafe)", false},
    KeyOption{"--sorting", "parallel.sorting", "list: serial, threaded", false},
    KeyOption{"--chunks", "parallel.chunks_per_thread", "list: of the schedules cyclic and dynamic", true},
    KeyOption{"--snapshot-interval", "output.snapshot_interval", "steps; 0: the first and the last state",
              true},
    KeyOption{"--restart-interval", "output.restart_interval", "steps; 0: the last state", true},
    KeyOption{"--check-interval", "output.check_interval", "steps between checks of what is conserved", true},
};

void add_key_options(CLI::App* app, Command* command) {
  for (const KeyOption& one : kKeyOptions) {
    const auto keep = [command, one](const auto& value) {
      command->overrides.push_back({one.option, one.key, value});
    };
    CLI::Option* option = one.number ? app->add_option_function<std::int64_t>(one.option, keep, one.about)
                                     : app->add_option_function<std::string>(one.option, keep, one.about);
    option->type_name(one.number ? "N" : "WORD")->group("Instead of the input file's");
  }
  app->add_flag("--unsafe", command->unsafe, "allow what gives wrong results");
  app->add_flag("--overwrite", command->overwrite, "let go of what an earlier run left in --output");
}

void add_commands(CLI::App* app, Command* command) {
  CLI::App* run = app->add_subcommand("run", "simulate");
  run->add_option("INPUT", command->input, "input file (TOML)")->required()->type_name("");
  run->add_option("-o,--output", command->output, "for snapshots, restart files and run.json")
      ->required()
      ->type_name("DIR");
  run->add_option("--restart", command->restart, "go on from this restart file")->type_name("FILE");
  run->add_flag("--quiet", command->quiet, "tell nothing but errors");
  add_key_options(run, command);
  run->footer("Mappings:\n" + mappings_help());
  run->callback([command] { command->kind = Command::Kind::kRun; });

  CLI::App* forces = app->add_subcommand("forces", "write the forces on all particles at time 0");
  forces->add_option("INPUT", command->input, "input file (TOML)")->required()->type_name("");
  forces->add_option("-o,--output", command->output, "id, x, y, fx, fy, density")
      ->required()
      ->type_name("CSV");
  add_key_options(forces, command);
  forces->callback([command] { command->kind = Command::Kind::kForces; });
  for (const Tool& tool : kTools) app->add_subcommand(tool.name, tool.about);
}

}  // namespace

Command parse_command_line(int argc, char** argv, bool tells) {
  Command command;
  CLI::App app("A shock wave in two dimensions by smoothed particles, with MPI and OpenMP.", "spam");
  app.set_version_flag("--version", "spam " SPAM_VERSION);
  app.require_subcommand(1);
  add_commands(&app, &command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream nowhere;
    const int status = tells ? app.exit(error) : app.exit(error, nowhere, nowhere);
    command.kind = Command::Kind::kNone;
    command.status = status == 0 ? 0 : kUsageStatus;
  }
  return command;
}

void become_tool(char** argv) {
  const char* wanted = argv[0] == nullptr ? nullptr : argv[1];
  if (wanted == nullptr || std::none_of(kTools.begin(), kTools.end(), [&](const Tool& tool) {
        return std::strcmp(tool.name, wanted) == 0;
      }))
    return;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string tools = (self.parent_path().parent_path() / "libexec/tasuki/spam-tools").string();
  setenv("SPAM", self.c_str(), 1);
  argv[0] = const_cast<char*>(tools.c_str());
  execv(tools.c_str(), argv);
  fmt::print(stderr, "spam: {} needs {}: {}\n", wanted, tools, std::strerror(errno));
  std::exit(1);
}

}  // namespace spam
