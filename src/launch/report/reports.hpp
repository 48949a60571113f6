// Reports: all that mpiexec collects from the ranks while they run and reports at the end of the job: their
// statistics (--stats), their trace (--trace), the times of their file accesses (--io-times), and what they
// left behind (TASUKI_CHECK=3). Each of them is empty where no user wants it.
//
// One thread. What it is given outlives it.
#pragma once

#include <string>

#include "launch/options/options.hpp"
#include "launch/report/host_clock.hpp"
#include "launch/report/io_times_recording.hpp"
#include "launch/report/leak_summary.hpp"
#include "launch/report/statistics_table.hpp"
#include "launch/report/trace_recording.hpp"
#include "launch/stream/console.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

class Reports {
 public:
  Reports(const Options& options, const Worlds& worlds, Console& console)
      : options_(options), worlds_(worlds), console_(console) {}

  /// Prepares the environments of a world that is about to start, and with the command line's the files that
  /// the ranks write to. Returns why it cannot; empty: all is well.
  std::string begin(World& world);

  /// Sets the variables that say where a rank's recordings go.
  void set_variables(RankEnvironment& environment, const World& world, int rank) const;

  /// Bytes of a world's shared memory on this host, and how many of them were ever written to.
  struct SharedBytes {
    std::uint64_t all = 0;
    std::uint64_t touched = 0;
  };
  static SharedBytes shared_bytes(const World& world);
  /// Takes those of another host.
  void take_shared_bytes(const SharedBytes& bytes);

  /// Takes what the ranks of a world counted, before the world goes. REQUIRES: they have ended, in whatever
  /// way.
  void take_statistics(World& world);

  /// Takes what a rank left behind when it ended MPI. `files`: that rank's, where it is on another host.
  void take_leaks(const LeakReport& report);
  void take_leaks(const LeakReport& report, const std::vector<MappedFile>& files);
  /// Those of the rank, which waits for an answer.
  std::vector<MappedFile> files_of(const LeakReport& report) const;

  /// Takes the next bytes of what was recorded on another host, by its number in the placement. `part`: of
  /// the trace, as rank_name() says; empty: lines of times of accesses to files.
  void take_recording(int host, const std::string& part, const std::string& bytes);
  /// What is known of that host's clock by now.
  void take_clock(int host, const std::string& name, const HostClock& clock);
  /// Nothing more comes from that host.
  void note_lost(int host, const std::string& name);

  /// Prints all of it. Returns false when something could not be written. Once, at the end.
  bool print_all();

 private:
  bool print_statistics();
  bool print_recordings();

  const Options& options_;
  const Worlds& worlds_;
  Console& console_;
  JobStatistics statistics_;  // of worlds that are over
  TraceRecording trace_;
  IoTimesRecording io_times_;
  LeakSummary leaks_;
  std::string lost_hosts_;  // whose recordings are lost
};

}  // namespace tasuki::launch
