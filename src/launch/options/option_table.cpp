// Every option of mpiexec, with what it does and what the help says about it: the one place to add another.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/variables/settings.hpp"
#include "launch/base/format.hpp"
#include "launch/options/option_parser.hpp"

namespace tasuki::launch {
namespace {

bool is_name(const std::string& name) {
  return !name.empty() && name.find('=') == std::string::npos;
}

bool read_integer(Parser& parser, long min, long max, int* value) {
  std::string word;
  if (!parser.take(&word)) return false;
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0' || errno != 0 || number < min || number > max) {
    return parser.fail(
        format("%s %s: expected a number from %ld to %ld", parser.given.c_str(), word.c_str(), min, max));
  }
  *value = static_cast<int>(number);
  return true;
}

bool ranks(Parser& parser) {
  parser.application.ranks_given = true;
  return read_integer(parser, 1, kRanksMax, &parser.application.ranks);
}

/// NAME VALUE, or NAME=VALUE in one word.
bool read_assignment(Parser& parser, std::vector<Assignment>* environment) {
  Assignment assignment;
  if (!parser.take(&assignment.name)) return false;
  const std::size_t equals = assignment.name.find('=');
  if (equals != std::string::npos) {
    assignment.value = assignment.name.substr(equals + 1);
    assignment.name.resize(equals);
  } else if (!parser.take(&assignment.value)) {
    return false;
  }
  if (!is_name(assignment.name)) return parser.fail(parser.given + ": expected the name of a variable");
  environment->push_back(assignment);
  return true;
}

bool env(Parser& parser) {
  return read_assignment(parser, &parser.application.environment);
}

bool genv(Parser& parser) {
  return read_assignment(parser, &parser.options->environment);
}

bool initial_errhandler(Parser& parser) {
  std::string word;
  if (!parser.take(&word)) return false;
  if (!is_initial_errhandler(word.c_str()))
    return parser.fail(parser.given + " " + word + ": expected " + kInitialErrhandlers);
  parser.options->environment.push_back({"TASUKI_INITIAL_ERRHANDLER", word});
  return true;
}

bool heap(Parser& parser) {
  std::string word;
  if (!parser.take(&word)) return false;
  if (!is_heap(word.c_str())) return parser.fail(parser.given + " " + word + ": expected " + kHeaps);
  parser.options->environment.push_back({"TASUKI_HEAP", word});
  return true;
}

bool export_variable(Parser& parser) {
  std::string word;
  if (!parser.take(&word)) return false;
  const std::size_t equals = word.find('=');
  Assignment assignment{word.substr(0, equals), ""};
  if (!is_name(assignment.name)) {
    return parser.fail(parser.given + " " + word + ": expected NAME or NAME=VALUE");
  }
  if (equals != std::string::npos) {
    assignment.value = word.substr(equals + 1);
  } else {
    const char* value = std::getenv(word.c_str());
    if (value == nullptr) return true;  // nothing to pass on
    assignment.value = value;
  }
  parser.application.environment.push_back(assignment);
  return true;
}

/// Which of mpiexec's own variables one program's ranks get, or those of all programs.
void inherit(Parser& parser, bool for_all, Inherit which, const std::string& list = {}) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  if (for_all) {
    parser.options->inherit = which;
    parser.options->inherited = std::move(names);
  } else {
    parser.application.inherit = which;
    parser.application.inherit_given = true;
    parser.application.inherited = std::move(names);
  }
}

template <bool ForAll>
bool envlist(Parser& parser) {
  std::string list;
  if (!parser.take(&list)) return false;
  inherit(parser, ForAll, Inherit::kListed, list);
  return true;
}

template <bool ForAll, Inherit Which>
bool env_all_or_none(Parser& parser) {
  inherit(parser, ForAll, Which);
  return true;
}

bool directory(Parser& parser) {
  return parser.take(&parser.application.directory);
}

bool path(Parser& parser) {
  if (!parser.take(&parser.application.path)) return false;
  return !parser.application.path.empty() ||
         parser.fail(parser.given + ": expected folders, separated by ':'");
}

bool application_file(Parser& parser) {
  std::string path;
  if (!parser.take(&path)) return false;
  if (parser.in_file) return parser.fail(parser.given + ": an application file cannot name another one");
  return read_application_file(parser, path);
}

bool host(Parser& parser) {
  std::string list;
  std::string error;
  if (!parser.take(&list)) return false;
  parser.application.hosts += (parser.application.hosts.empty() ? "" : ",") + list;
  if (add_host_list(list, &parser.options->hosts, &error)) return true;
  return parser.fail(format("%s %s: %s", parser.given.c_str(), list.c_str(), error.c_str()));
}

bool host_file(Parser& parser) {
  std::string path;
  std::string error;
  if (!parser.take(&path)) return false;
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return parser.fail(format("cannot read the host file '%s': %s", path.c_str(), strerror(errno)));
  if (!add_host_file(text, &parser.options->hosts, &error)) {
    return parser.fail(format("the host file '%s': %s", path.c_str(), error.c_str()));
  }
  if (!parser.options->hosts.empty()) return true;
  return parser.fail(format("the host file '%s' names no host", path.c_str()));
}

bool slots_per_host(Parser& parser) {
  return read_integer(parser, 1, kSlotsMax, &parser.options->slots_per_host);
}

bool launcher(Parser& parser) {
  std::string word;
  if (!parser.take(&word)) return false;
  RemoteStarter& starter = parser.options->starter;
  parser.options->starter_given = true;
  if (word == "ssh") {
    starter.kind = RemoteStart::kSsh;
  } else if (word == "rsh") {
    starter.kind = RemoteStart::kCommand;
    starter.command = {word};
  } else if (word == "slurm" || word == "srun") {
    starter.kind = RemoteStart::kSlurm;
  } else {
    return parser.fail(parser.given + " " + word +
                       ": expected ssh, rsh or slurm; for others there is --launcher-command");
  }
  return true;
}

bool launcher_command(Parser& parser) {
  std::string command;
  if (!parser.take(&command)) return false;
  RemoteStarter& starter = parser.options->starter;
  parser.options->starter_given = true;
  starter.kind = RemoteStart::kCommand;
  starter.command.clear();
  if (split_words(command, &starter.command) && !starter.command.empty()) return true;
  return parser.fail(parser.given + " " + command +
                     ": expected a command, to which a host's name and a program are added");
}

bool launcher_tree(Parser& parser) {
  return read_integer(parser, 0, static_cast<long>(kHostsMax), &parser.options->starter.fan_out);
}

bool prefix(Parser& parser) {
  std::string directory;
  if (!parser.take(&directory)) return false;
  if (directory.empty() || directory[0] != '/') {
    return parser.fail(parser.given + " " + directory + ": expected a directory, from / on");
  }
  parser.options->starter.prefix = directory;
  return true;
}

bool agent(Parser& parser) {
  return parser.options->agent = true;
}

bool host_silence(Parser& parser) {
  std::string word;
  if (!parser.take(&word)) return false;
  if (parse_seconds(word, &parser.options->host_silence_seconds)) return true;
  return parser.fail(
      format("%s %s: expected a number of seconds above 0", parser.given.c_str(), word.c_str()));
}

bool labels(Parser& parser) {
  return parser.options->labels = true;
}

bool output_filename(Parser& parser) {
  std::string path;
  if (!parser.take(&path)) return false;
  if (path.find("%r") == std::string::npos) {
    parser.options->output_directory = path;
  } else {
    parser.options->output_pattern = parser.options->error_pattern = path;
  }
  return true;
}

bool read_pattern(Parser& parser, std::string* pattern) {
  if (!parser.take(pattern)) return false;
  if (pattern->find("%r") != std::string::npos) return true;
  return parser.fail(format("%s %s: expected %%r, which becomes the rank, somewhere in the name",
                            parser.given.c_str(), pattern->c_str()));
}

bool outfile_pattern(Parser& parser) {
  return read_pattern(parser, &parser.options->output_pattern);
}

bool errfile_pattern(Parser& parser) {
  return read_pattern(parser, &parser.options->error_pattern);
}

bool standard_input(Parser& parser) {
  std::string word;
  if (!parser.take(&word)) return false;
  if (word == "none") {
    parser.options->stdin_rank = kNoRank;
    return true;
  }
  parser.has_attached = true;
  parser.attached = word;
  if (word != "all") return read_integer(parser, 0, kRanksMax, &parser.options->stdin_rank);
  return parser.fail(parser.given + " all: standard input can go to one rank only; give its number, or none");
}

bool timeout(Parser& parser) {
  std::string word;
  if (!parser.take(&word)) return false;
  if (parse_seconds(word, &parser.options->timeout_seconds)) return true;
  return parser.fail(
      format("%s %s: expected a number of seconds above 0", parser.given.c_str(), word.c_str()));
}

bool universe_size(Parser& parser) {
  return read_integer(parser, 1, kRanksMax, &parser.options->universe_size);
}

bool fill_slots_only(Parser& parser) {
  return parser.options->fills_slots_only = true;
}

/// Takes a word that may have Open MPI's modifiers behind it, as in core:overload-allowed. Here ranks may
/// always share processors and slots, so of these some go without saying; others are refused.
bool take_with_modifiers(Parser& parser, std::string* word) {
  std::string given;
  if (!parser.take(&given)) return false;
  std::size_t end = std::min(given.find(':'), given.size());
  *word = given.substr(0, end);
  while (end < given.size()) {
    const std::size_t begin = end + 1;
    end = std::min(given.find_first_of(":,", begin), given.size());
    std::string modifier = given.substr(begin, end - begin);
    for (char& c : modifier) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (modifier == "nooversubscribe") {
      fill_slots_only(parser);
    } else if (modifier != "oversubscribe" && modifier != "overload-allowed" && modifier != "if-supported") {
      return parser.fail(
          format("%s %s: the modifier %s is unknown here, expected oversubscribe, "
                 "nooversubscribe, overload-allowed or if-supported",
                 parser.given.c_str(), given.c_str(), modifier.c_str()));
    }
  }
  return true;
}

bool bind_to(Parser& parser) {
  std::string word;
  if (!take_with_modifiers(parser, &word)) return false;
  const struct {
    const char* name;
    BindTo value;
  } known[] = {
      {"share", BindTo::kShare},       {"none", BindTo::kNone}, {"core", BindTo::kCore},
      {"hwthread", BindTo::kHwthread}, {"numa", BindTo::kNuma}, {"socket", BindTo::kSocket},
      {"package", BindTo::kSocket},
  };
  for (const auto& entry : known) {
    if (word == entry.name) {
      parser.options->bind_to = entry.value;
      return true;
    }
  }
  return parser.fail(format("%s %s: expected share, none, hwthread, core, numa or socket",
                            parser.given.c_str(), word.c_str()));
}

bool map_by(Parser& parser) {
  std::string word;
  const bool ranks_only = parser.given.ends_with("rank-by");
  if (!take_with_modifiers(parser, &word)) return false;
  std::string& other = ranks_only ? parser.mapped_by : parser.ranked_by;
  if (!other.empty() && other != word)
    return parser.fail("--map-by and --rank-by differ: ranks are numbered as they are mapped here");
  (ranks_only ? parser.ranked_by : parser.mapped_by) = word;
  const struct {
    const char* name;
    MapBy value;
  } known[] = {
      // "node" is the other order of virtual nodes
      {"core", MapBy::kCore}, {"slot", MapBy::kCore},     {"hwthread", MapBy::kCore},
      {"node", MapBy::kCore}, {"socket", MapBy::kSocket}, {"package", MapBy::kSocket},
      {"numa", MapBy::kNuma},
  };
  for (const auto& entry : known) {
    if (word == entry.name) {
      parser.options->map_by = entry.value;
      parser.options->node_order = word == "node" ? NodeOrder::kCyclic : NodeOrder::kBlock;
      return true;
    }
  }
  return parser.fail(
      format("%s %s: expected core, numa, socket, slot or node", parser.given.c_str(), word.c_str()));
}

bool nodes(Parser& parser) {
  parser.options->nodes_given = true;
  return read_integer(parser, 1, kRanksMax, &parser.options->nodes);
}

bool network_latency(Parser& parser) {
  std::string word;
  std::int64_t nanoseconds = 0;
  if (!parser.take(&word)) return false;
  if (!parse_latency(word, &nanoseconds))
    return parser.fail(parser.given + " " + word + ": expected a time up to 1s, like 1.5us, 800ns or 2ms");
  parser.options->environment.push_back({"TASUKI_NETWORK_LATENCY_NS", std::to_string(nanoseconds)});
  return true;
}

bool take_bandwidth(Parser& parser, const char* variable) {
  std::string word;
  std::int64_t mb_per_second = 0;
  if (!parser.take(&word)) return false;
  if (!parse_bandwidth(word, &mb_per_second))
    return parser.fail(parser.given + " " + word +
                       ": expected 1MB/s to 1TB/s, like 5GB/s or 400MB/s, or unlimited");
  parser.options->environment.push_back({variable, std::to_string(mb_per_second)});
  return true;
}

bool network_bandwidth(Parser& parser) {
  return take_bandwidth(parser, "TASUKI_NETWORK_MB_PER_SECOND");
}

bool network_node_bandwidth(Parser& parser) {
  return take_bandwidth(parser, "TASUKI_NETWORK_NODE_MB_PER_SECOND");
}

bool network(Parser& parser) {
  std::string word;
  if (!parser.take(&word)) return false;
  if (word != "model" && word != "fabric")
    return parser.fail(parser.given + " " + word + ": expected model or fabric");
  parser.options->environment.push_back({"TASUKI_NETWORK", word});
  return true;
}

bool report_bindings(Parser& parser) {
  return parser.options->report_bindings = true;
}

bool verbose(Parser& parser) {
  return parser.options->verbose = true;
}

bool serve_spawns(Parser& parser) {
  return read_integer(parser, 3, INT_MAX, &parser.options->spawn_socket);
}

bool help(Parser& parser) {
  return parser.options->help = true;
}

bool version(Parser& parser) {
  return parser.options->version = true;
}

bool info(Parser& parser) {
  parser.options->info = InfoForm::kTable;
  if (!parser.has_attached) return true;
  std::string word;
  if (!parser.take(&word)) return false;
  if (word == "json") {
    parser.options->info = InfoForm::kJson;
  } else if (word == "markdown") {
    parser.options->info = InfoForm::kMarkdown;
  } else if (word != "table") {
    return parser.fail(parser.given + "=" + word + ": expected table, json or markdown");
  }
  return true;
}

bool statistics(Parser& parser) {
  parser.options->statistics = StatisticsForm::kTable;
  if (!parser.has_attached) return true;
  std::string word;
  if (!parser.take(&word)) return false;
  if (word == "json") {
    parser.options->statistics = StatisticsForm::kJson;
  } else if (word == "ranks") {
    parser.options->statistics = StatisticsForm::kRanks;
  } else if (word != "table") {
    return parser.fail(parser.given + "=" + word + ": expected table, ranks or json");
  }
  return true;
}

bool statistics_file(Parser& parser) {
  if (!parser.take(&parser.options->statistics_file)) return false;
  if (parser.options->statistics == StatisticsForm::kNone)
    parser.options->statistics = StatisticsForm::kTable;
  return true;
}

bool trace(Parser& parser) {
  parser.options->trace = true;
  if (!parser.has_attached) return true;
  if (!parser.take(&parser.options->trace_file)) return false;
  return !parser.options->trace_file.empty() || parser.fail(parser.given + "=: expected the name of a file");
}

bool explain(Parser& parser) {
  parser.options->trace = true;
  parser.options->explain = true;
  return true;
}

bool io_times(Parser& parser) {
  parser.options->io_times = true;
  if (!parser.has_attached) return true;
  if (!parser.take(&parser.options->io_times_file)) return false;
  return !parser.options->io_times_file.empty() ||
         parser.fail(parser.given + "=: expected the name of a file");
}

bool doctor(Parser& parser) {
  std::string word = "text";
  if (parser.has_attached && !parser.take(&word)) return false;
  if (parse_doctor(word, &parser.options->doctor)) return true;
  return parser.fail(parser.given + "=" + word + ": expected text or json");
}

bool stall(Parser& parser) {
  std::string word;
  if (!parser.take(&word)) return false;
  if (parse_stall(word, &parser.options->stall_seconds)) return true;
  return parser.fail(
      format("%s %s: expected a number of seconds, 0 for never", parser.given.c_str(), word.c_str()));
}

bool end_on_deadlock(Parser& parser) {
  return parser.options->end_on_deadlock = true;
}

bool top(Parser& parser) {
  return parser.options->top = true;
}

bool job(Parser& parser) {
  return read_integer(parser, 1, INT_MAX, &parser.options->job_pid);
}

bool nothing(Parser&) {
  return true;
}

/// Hydra's -rmk: which batch system the hosts come from. mpiexec finds that out, so a wrong one is refused.
bool batch_system(Parser& parser) {
  constexpr struct {
    const char* word;
    const char* system;  // as find_allocation() calls it
  } kSystems[] = {{"slurm", "Slurm"}, {"pbs", "PBS"}, {"lsf", "LSF"}, {"sge", "Grid Engine"}};
  std::string word;
  if (!parser.take(&word)) return false;
  for (const auto& known : kSystems) {
    if (word == known.word) parser.options->batch_system = known.system;
  }
  return !parser.options->batch_system.empty() ||
         parser.fail(parser.given + " " + word + ": expected slurm, pbs, lsf or sge");
}

/// Open MPI's: the job starts, and one line says that this changes nothing.
bool foreign_parameter(Parser& parser) {
  std::string name, value;
  if (!parser.take(&name) || !parser.take(&value)) return false;
  parser.options->foreign.push_back(parser.given + " " + name);
  return true;
}

bool interface(Parser& parser) {
  std::string word;
  if (!parser.take(&word)) return false;
  parser.options->environment.push_back({"TASUKI_NET_INTERFACE", word});
  return true;
}

constexpr Option kOptions[] = {
    {Group::kProgram, "n np c", "N",
     "start N ranks of the program; when not given as many as the hosts have slots, or 1", ranks},
    {Group::kProgram, "x", "NAME[=VALUE]", "set a variable for its ranks, or pass mpiexec's own on",
     export_variable},
    {Group::kProgram, "env", "NAME VALUE", "set a variable for its ranks", env},
    {Group::kProgram, "envlist", "A,B,…", "pass on only these of mpiexec's own variables", envlist<false>},
    {Group::kProgram, "envnone", "", "pass on none of mpiexec's own variables",
     env_all_or_none<false, Inherit::kNone>},
    {Group::kProgram, "envall", "", "pass on all of them, where --genvlist or --genvnone says otherwise",
     env_all_or_none<false, Inherit::kAll>},
    {Group::kProgram, "wdir wd", "DIR", "start it in DIR", directory},
    {Group::kProgram, "path", "DIRS",
     "look for it in these folders, separated by ':', instead of those of PATH; relative ones begin at its "
     "working directory",
     path},
    {Group::kOutput, "l prepend-rank tag-output", "",
     "put [rank] before every line; [2.0] is rank 0 of what was spawned second", labels},
    {Group::kOutput, "output-filename", "DIR",
     "write each rank's output to DIR/rank.N/stdout and stderr instead; a name with %r in it is the name of "
     "the one file for both",
     output_filename},
    {Group::kOutput, "outfile-pattern", "NAME", "write standard output to NAME, in which %r becomes the rank",
     outfile_pattern},
    {Group::kOutput, "errfile-pattern", "NAME", "the same for standard error", errfile_pattern},
    {Group::kOutput, "stdin s", "RANK", "which rank reads mpiexec's standard input: 0 when not given; none",
     standard_input},
    {Group::kPlacement, "bind-to", "WHAT",
     "share (the default: each rank its equal part of the cores), core, hwthread, numa, socket or none; with "
     "more ranks than processors, no rank is bound",
     bind_to},
    {Group::kPlacement, "map-by rank-by", "WHAT",
     "deal ranks to cores one after the other (core), or round robin among socket or numa; to virtual nodes "
     "in blocks (slot, the default) or round robin (node)",
     map_by},
    {Group::kPlacement, "nodes", "N",
     "divide the ranks among N virtual nodes, which share no memory and send through an imitated network: a "
     "way to try on one machine what is meant for several; with fewer ranks than N each has a node of its "
     "own; spawned ranks share one node; TASUKI_NODES sets it too",
     nodes},
    {Group::kPlacement, "network", "model | fabric",
     "what carries packets between virtual nodes: the imitated network (when not given), or libfabric over "
     "the loopback interface, as between hosts",
     network},
    {Group::kPlacement, "network-latency", "TIME",
     "how long a packet travels between virtual nodes: 2us when not given", network_latency},
    {Group::kPlacement, "network-bandwidth", "RATE",
     "how much goes from one rank to another there: 5GB/s when not given; unlimited", network_bandwidth},
    {Group::kPlacement, "network-node-bandwidth", "RATE",
     "how much all ranks of a node together send to others, and receive: unlimited when not given",
     network_node_bandwidth},
    {Group::kPlacement, "report-bindings", "", "print which processors each rank is bound to",
     report_bindings},
    {Group::kHosts, "host hosts H", "NAME:SLOTS,…",
     "the hosts to start ranks on, and the slots of each: how many ranks it gets before the next one (1 "
     "where "
     "none is given); where several programs name hosts each of them has its own; without this the hosts "
     "that Slurm, PBS, LSF or Grid Engine gave to this job, else this "
     "machine alone",
     host},
    {Group::kHosts, "hostfile machinefile f", "FILE",
     "the same, a host on each line: NAME:SLOTS, or NAME slots=N", host_file},
    {Group::kHosts, "ppn perhost npernode N", "NUM", "ranks on each host before the next one",
     slots_per_host},
    {Group::kHosts, "nooversubscribe", "",
     "refuse more ranks than the hosts have slots, or this machine processors", fill_slots_only},
    {Group::kHosts, "iface", "NAME",
     "the network interface that ranks take; TASUKI_NET_INTERFACE sets it too", interface},
    {Group::kHosts, "rmk", "NAME",
     "refuse hosts of another batch system than this one: slurm, pbs, lsf or sge", batch_system},
    {Group::kHosts, "launcher bootstrap", "NAME",
     "what starts ranks on other hosts: ssh, rsh, or slurm (srun), which is meant where Slurm gave the hosts",
     launcher},
    {Group::kHosts, "launcher-command launcher-exec", "COMMAND",
     "the same by a command of your own: it is run with a host's name and then a program with its arguments",
     launcher_command},
    {Group::kHosts, "launcher-tree", "N",
     "how many hosts mpiexec reaches itself; each of these reaches up to N more, and so on: 32 when not "
     "given, "
     "0 for no tree; TASUKI_LAUNCHER_TREE sets it too",
     launcher_tree},
    {Group::kHosts, "prefix", "DIR", "where Tasuki is on the other hosts; as here when not given", prefix},
    {Group::kHosts, "host-silence", "SECONDS",
     "how long a host may be silent before the job ends: 5 when not given; TASUKI_HOST_SILENCE_SECONDS sets "
     "it too",
     host_silence},
    {Group::kJob, "configfile app appfile", "FILE",
     "read programs from FILE, one a line, each with its options", application_file},
    {Group::kJob, "genv", "NAME VALUE", "set a variable for the ranks of all programs", genv},
    {Group::kJob, "genvlist", "A,B,…", "pass on only these of mpiexec's own variables to all programs",
     envlist<true>},
    {Group::kJob, "genvnone", "", "pass on none of mpiexec's own variables to any program",
     env_all_or_none<true, Inherit::kNone>},
    {Group::kJob, "timeout", "SECONDS",
     "end the job after that time, with exit status 124; MPIEXEC_TIMEOUT sets it too", timeout},
    {Group::kJob, "initial-errhandler", "NAME",
     "the error handler that communicators begin with: mpi_errors_are_fatal (when not given), "
     "mpi_errors_abort or "
     "mpi_errors_return",
     initial_errhandler},
    {Group::kJob, "heap", "KIND",
     "whether malloc() gives memory that all ranks can reach, for messages that are copied once: auto (when "
     "not given: where nothing gets slower by it), global or private",
     heap},
    {Group::kJob, "usize universe-size", "N",
     "how many ranks there is room for, spawned ones included (MPI_UNIVERSE_SIZE): when not given, the "
     "slots of all hosts, or, on this host alone, not known",
     universe_size},
    {Group::kJob, "stats", "",
     "at the end print how many messages the ranks sent, how large they were, and which way they went; "
     "--stats=ranks: for each rank too; --stats=json: for programs, on standard output",
     statistics},
    {Group::kJob, "stats-file", "FILE", "the same, to FILE", statistics_file},
    {Group::kJob, "trace", "",
     "record every call that sends, receives or waits, for tasuki predict; to PROGRAM.trace, or with "
     "--trace=FILE to FILE",
     trace},
    {Group::kJob, "explain", "",
     "record as --trace does, and say at the end what held the program up (tasuki explain), on standard "
     "error",
     explain},
    {Group::kJob, "io-times", "",
     "record when the phases of collective accesses to files began and ended, for tasuki io-chart; to "
     "PROGRAM.iotimes, or with --io-times=FILE to FILE",
     io_times},
    {Group::kJob, "v verbose", "", "say what is done", verbose},
    {Group::kJob, "serve-spawns", "FD",
     "start no program, only what the program at the other end of the socket FD spawns: one that runs alone "
     "starts its own mpiexec like this",
     serve_spawns},
    {Group::kJob, "h help ?", "", "print this text", help},
    {Group::kJob, "V version", "", "print the version", version},
    {Group::kJob, "info", "",
     "print what this library is, what can be set, and what it counts; --info=json and --info=markdown too; "
     "with a program: which heap it will have",
     info},
    {Group::kDoctor, "doctor", "",
     "whenever the job fails or stands still, report what each rank is in and which ranks wait for which: on "
     "standard error, or --doctor=json for programs, on standard output; without a program: report it of a "
     "job that runs; TASUKI_DOCTOR=text and =json set it too",
     doctor},
    {Group::kDoctor, "stall", "SECONDS",
     "how long all ranks must wait without moving before that is reported: 10 when not given, 0 for never; "
     "TASUKI_STALL_SECONDS sets it too",
     stall},
    {Group::kDoctor, "end-on-deadlock", "",
     "end a job whose ranks certainly wait for one another for ever, with exit status 125; "
     "TASUKI_END_ON_DEADLOCK=1 sets it too",
     end_on_deadlock},
    {Group::kDoctor, "top", "",
     "show all the time what each rank is in, what it sends and receives, and how, below the program's "
     "output; without a program: of a job that runs, until q",
     top},
    {Group::kDoctor, "job", "PID", "with several jobs that run: the mpiexec whose job is meant", job},
    // What users of other launchers write, and what holds here without being asked for.
    {Group::kAccepted,
     "oversubscribe use-hwthread-cpus allow-run-as-root allow-overload quiet q enable-auto-cleanup cleanup",
     "", "", nothing},
    {Group::kAccepted, "genvall", "", "", env_all_or_none<true, Inherit::kAll>},
    {Group::kAccepted, "display-map", "", "", verbose},
    {Group::kAccepted, "agent", "", "", agent},
    {Group::kAccepted, "mca gmca omca prtemca pmixmca", "NAME VALUE", "", foreign_parameter},
    // What they write, and mpiexec does not do: each is refused with its sentence.
    {Group::kAccepted, "no-local nolocal", "", "name the hosts to use by --host", nullptr},
    {Group::kAccepted, "disable-auto-cleanup", "", "a failed rank ends those connected to it", nullptr},
    {Group::kAccepted, "localhost", "", "hosts reach mpiexec through its launcher alone", nullptr},
};

constexpr const char* kHeadings[] = {
    "Each program's own, before its name", "Input and output", "Processors", "Hosts", "The job",
    "What a job does, and why it hangs"};

/// Calls `use` with each name in a blank separated list, until it returns true.
template <class Use>
bool any_name(const char* names, Use&& use) {
  for (const char* begin = names; *begin != '\0';) {
    const std::size_t length = std::strcspn(begin, " ");
    if (use(std::string(begin, length))) return true;
    begin += length;
    while (*begin == ' ') ++begin;
  }
  return false;
}

}  // namespace

const Option* find_option(const std::string& name) {
  for (const Option& option : kOptions) {
    if (any_name(option.names, [&](const std::string& other) { return other == name; })) return &option;
  }
  return nullptr;
}

std::string nearest_option(const std::string& name) {
  std::string nearest;
  int least = std::min<int>(2, static_cast<int>(name.size()) / 2) + 1;
  for (const Option& option : kOptions) {
    any_name(option.names, [&](const std::string& other) {
      const int distance = edit_distance(name, other);
      if (distance < least) {
        least = distance;
        nearest = other;
      }
      return false;
    });
  }
  return nearest;
}

std::string help_text() {
  constexpr std::size_t kColumn = 34;
  std::string text =
      "mpiexec: start a program as the ranks of one MPI job, on this machine or on several\n\n"
      "  mpiexec -n 4 ./program arguments…              four ranks of one program\n"
      "  mpiexec -n 2 python3 script.py                 the same for Python (mpi4py)\n"
      "  mpiexec -n 1 ./boss : -n 3 ./worker            several programs, one job (MPI_COMM_WORLD)\n"
      "  mpiexec --host a:2,b:2 -n 4 ./program          two ranks on each of two hosts, by ssh\n\n"
      "Options may have one dash or two, and be written --name VALUE or --name=VALUE.\n";
  const Option* before = nullptr;
  for (const Option& option : kOptions) {
    if (option.group == Group::kAccepted) continue;
    if (before == nullptr || before->group != option.group) {
      text += std::string("\n") + kHeadings[static_cast<int>(option.group)] + ":\n";
    }
    before = &option;
    std::string left = " ";
    any_name(option.names, [&](const std::string& name) {
      left += (name.size() > 2 ? " --" : " -") + name;
      return false;
    });
    left += std::string(option.arguments[0] != '\0' ? " " : "") + option.arguments;
    // "…" takes three bytes and one column.
    const std::size_t columns = left.size() - (left.find("…") != std::string::npos ? 2 : 0);
    text += left +
            (columns + 2 > kColumn ? "\n" + std::string(kColumn, ' ') : std::string(kColumn - columns, ' '));
    text += wrapped(option.help, kColumn, 100) + "\n";
  }
  text +=
      "\nStandard input goes to rank 0; output comes as whole lines. When a rank dies, exits with an error\n"
      "or calls MPI_Abort, the job ends, and mpiexec says which rank it was and why. Ranks that a program\n"
      "spawns end with it, and it with them, until they have called MPI_Comm_disconnect; their standard\n"
      "input is empty. A program started without mpiexec may spawn as well: it starts the mpiexec of its\n"
      "library's installation, or TASUKI_MPIEXEC, for that. The exit status is that of the first failure\n"
      "(128 + n for signal n), 0 when there was none, 124 after --timeout, 125 by --end-on-deadlock, 127\n"
      "for a program that does not exist. Ctrl-C ends the job: the ranks get SIGINT, after two seconds\n"
      "SIGTERM, then SIGKILL; a second Ctrl-C is SIGTERM at once. Ctrl-\\ (SIGQUIT) says what its ranks are\n"
      "in, and it goes on. A program started without mpiexec is a job of one rank.\n";
  return text;
}

}  // namespace tasuki::launch
