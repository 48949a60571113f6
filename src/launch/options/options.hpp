// What the command line of mpiexec says, as data. Pure: nothing here looks at the machine but for reading
// application files and host files.
#pragma once

#include <string>
#include <vector>

#include "launch/allocation/host_list.hpp"
#include "launch/allocation/start_command.hpp"
#include "launch/mapping/processor_binding.hpp"
#include "launch/mapping/virtual_nodes.hpp"

namespace tasuki::launch {

struct Assignment {
  std::string name;
  std::string value;
};

/// Which of mpiexec's own variables an application's ranks get.
enum class Inherit { kAll, kNone, kListed };

/// One program of the job: what stands between two ':' on the command line.
struct Application {
  int ranks = 1;
  bool ranks_given = false;
  std::vector<std::string> command;  // the program and its arguments
  std::string directory;             // empty: mpiexec's own
  std::string path;                  // folders in which the program is looked for; empty: those of PATH
  std::string hosts;                 // as --host names them for this program alone; empty: those of the job
  std::vector<Assignment> environment;
  Inherit inherit = Inherit::kAll;
  bool inherit_given = false;          // by the application itself, not for all of them
  std::vector<std::string> inherited;  // the names, for kListed
};

inline constexpr int kNoRank = -1;

/// How --info is to look.
enum class InfoForm { kNone, kTable, kJson, kMarkdown };

/// What --stats is to print: nothing, all ranks together, each rank too, or all of it for programs.
enum class StatisticsForm { kNone, kTable, kRanks, kJson };

/// What the doctor (docs/doctor.md) says, and in which form. kUnasked: when a job stands still or its time is
/// over, and to SIGQUIT, as text; the others: whenever a job fails, too.
enum class DoctorForm { kUnasked, kText, kJson };

inline constexpr double kSilenceUnset = 0;
inline constexpr double kSilenceDefault = 5;
inline constexpr double kStallUnset = -1;
inline constexpr double kStallDefault = 10;

struct Options {
  std::vector<Application> applications;
  std::vector<Assignment> environment;  // for all applications
  Inherit inherit = Inherit::kAll;      // the same, where they do not say otherwise
  std::vector<std::string> inherited;
  bool labels = false;
  std::string output_directory;  // DIR/rank.N/stdout and stderr; empty: none
  std::string output_pattern;  // the file of a rank's standard output, "%r" is the rank; empty: mpiexec's own
  std::string error_pattern;   // the same for standard error
  int stdin_rank = 0;          // the rank that reads mpiexec's standard input, or kNoRank
  double timeout_seconds = 0;  // 0: no limit
  int universe_size = 0;       // 0: as many as there are processors
  BindTo bind_to = BindTo::kShare;
  MapBy map_by = MapBy::kCore;
  int nodes = 1;  // virtual ones; a job of fewer ranks has one for each rank
  bool nodes_given = false;
  NodeOrder node_order = NodeOrder::kBlock;
  std::vector<HostSlots> hosts;   // named by the user; empty: the batch system's, or this machine
  int slots_per_host = 0;         // 0: as each host says
  bool fills_slots_only = false;  // a job of more ranks than slots is refused
  std::string batch_system;       // the one that must have given the hosts; empty: any
  RemoteStarter starter;
  bool starter_given = false;
  double host_silence_seconds = kSilenceUnset;  // a host that is silent so long is lost
  std::vector<std::string> foreign;             // options of other MPIs that change nothing: "--mca btl"
  bool agent = false;                           // serves an mpiexec on another host
  bool report_bindings = false;
  bool verbose = false;
  StatisticsForm statistics = StatisticsForm::kNone;
  std::string statistics_file;  // where to; empty: standard error, or standard output for kJson
  bool trace = false;
  bool explain = false;    // what the trace says is explained at the end
  std::string trace_file;  // where to; empty: the program's name and .trace
  bool io_times = false;
  std::string io_times_file;  // where to; empty: the program's name and .iotimes
  DoctorForm doctor = DoctorForm::kUnasked;
  double stall_seconds = kStallUnset;  // a job that stands still so long is looked at; 0: never
  bool end_on_deadlock = false;
  bool top = false;       // shows what the ranks do, all the time
  int job_pid = 0;        // the mpiexec whose job is to be looked at; 0: the only one there is
  int spawn_socket = -1;  // serves the spawns of the program at its other end, and starts nothing else
  bool help = false;
  bool version = false;
  InfoForm info = InfoForm::kNone;
  std::vector<std::string> info_command;  // the program whose heap --info shows: all words behind it

  bool needs_no_program() const {
    return help || version || info != InfoForm::kNone || spawn_socket >= 0 || agent;
  }
  /// Starts nothing: looks at a job that runs.
  bool visits() const {
    return applications.empty() && spawn_socket < 0 && !agent && (top || doctor != DoctorForm::kUnasked);
  }
  int ranks() const {
    int sum = 0;
    for (const Application& application : applications) sum += application.ranks;
    return sum;
  }
};

inline constexpr int kRanksMax = 1 << 16;  // of a job: far more than one machine starts

/// Parses the words after "mpiexec". Returns false and one line in `error` when something is wrong.
bool parse_options(const std::vector<std::string>& words, Options* options, std::string* error);

/// Takes the number of virtual nodes that the environment names, where the command line gives none. Returns
/// false, and one line in `error`, when it is no number above 0.
bool take_nodes(const char* text, Options* options, std::string* error);

/// Takes the hosts that a batch system gave to this job, where the command line names none. Returns false,
/// and one line in `error`, when it cannot be read.
bool take_allocation(const GetEnvironment& get, const ReadFile& read, Options* options, std::string* error);

/// Gives the one program of a command line that says no number of ranks one rank for each slot of the hosts.
/// Returns false, and one line in `error`, when they are too many.
bool take_all_slots(Options* options, std::string* error);

/// Takes the seconds of TASUKI_HOST_SILENCE_SECONDS, where the command line gives none. Returns false, and
/// one line in `error`, when it is no number above 0. Afterwards `host_silence_seconds` is set.
bool take_host_silence(const char* text, Options* options, std::string* error);

/// The same for the fan-out of TASUKI_LAUNCHER_TREE.
bool take_launcher_tree(const char* text, Options* options, std::string* error);

/// Reads a time limit: a number of seconds above 0. Returns false, and leaves `seconds`, when it is none.
bool parse_seconds(const std::string& word, double* seconds);

/// As take_nodes() for what the doctor is asked for: TASUKI_DOCTOR, TASUKI_STALL_SECONDS,
/// TASUKI_END_ON_DEADLOCK, in this order, null where they are not set. Afterwards `stall_seconds` is set.
bool take_doctor(const char* form, const char* stall, const char* end, Options* options, std::string* error);

/// "text" or "json". Returns false, and leaves `form`, for anything else.
bool parse_doctor(const std::string& word, DoctorForm* form);

/// A number of seconds, or 0. Returns false, and leaves `seconds`, when it is neither.
bool parse_stall(const std::string& word, double* seconds);

/// What --help prints.
std::string help_text();

/// Splits one line of an application file into words as a shell would: blanks separate, '…', "…" and \ quote,
/// # begins a comment. Returns false when a quote is not closed.
bool split_words(const std::string& line, std::vector<std::string>* words);

/// The number of insertions, deletions and replacements that turn one word into the other.
int edit_distance(const std::string& one, const std::string& other);

}  // namespace tasuki::launch
