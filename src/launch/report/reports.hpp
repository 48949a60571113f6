// Reports: all that mpiexec collects from the ranks while they run and reports at the end of the job: their
// statistics (--stats), their trace (--trace), the times of their file accesses (--io-times), and what they
// left behind (TASUKI_CHECK=3). Each of them is empty where no user wants it.
//
// One thread. What it is given outlives it.
#pragma once

#include <string>

#include "launch/options/options.hpp"
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

  /// Takes what the ranks of a world counted, before the world goes. REQUIRES: they have ended, in whatever
  /// way.
  void take_statistics(World& world);

  /// Takes what a rank left behind when it ended MPI.
  void take_leaks(const LeakReport& report);

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
};

}  // namespace tasuki::launch
