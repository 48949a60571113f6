// What the ranks reported of their messages, taken out of the job segments and given out at the end; and
// what --trace and --io-times record.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "launch/base/format.hpp"
#include "launch/job/job.hpp"

namespace tasuki::launch {

/// Of ranks that have ended, in whatever way.
void Job::take_statistics(World& world) {
  if (options_.statistics == StatisticsForm::kNone) return;
  for (int rank = 0; rank < world.size(); ++rank) {
    RankStatistics taken{.name = world.rank_name(rank), .counts = load(world.segment.rank(rank).statistics)};
    taken.started = taken.counts.running_ns != 0;
    statistics_.add(std::move(taken));
  }
  struct stat info {};
  if (fstat(world.segment.fd(), &info) != 0) return;
  statistics_.shared_bytes += static_cast<std::uint64_t>(info.st_size);
  statistics_.shared_bytes_touched += static_cast<std::uint64_t>(info.st_blocks) * 512;
}

void Job::report_statistics() {
  const StatisticsForm form = options_.statistics;
  if (form == StatisticsForm::kNone) return;
  for (const auto& world : worlds_) take_statistics(*world);
  if (statistics_.ranks.empty()) return;
  const bool to_file = !options_.statistics_file.empty();
  const bool bold = !to_file && form != StatisticsForm::kJson && isatty(STDERR_FILENO) != 0;
  const std::string text = statistics_text(form, statistics_, bold);
  if (to_file) {
    std::ofstream file(options_.statistics_file);
    file << text;
    file.close();
    if (file) return;
    say(format("mpiexec: cannot write '%s': %s", options_.statistics_file.c_str(), strerror(errno)));
    if (status_ == 0) status_ = 1;
  } else if (form == StatisticsForm::kJson) {
    output_.write((output_.open_line_owner != nullptr ? "\n" : "") + text);
  } else {
    say(text.substr(0, text.size() - 1));
  }
}

bool Job::prepare_recordings(World* world, Refusal* refusal) {
  if (options_.io_times && !world->spawned() &&
      !io_times_.begin(options_.io_times_file, world->applications.front().command)) {
    *refusal = {io_times_.error(), 1};
    return false;
  }
  if (!options_.trace) return true;
  if (!world->spawned() && !trace_.begin(options_.trace_file, world->applications.front().command)) {
    *refusal = {trace_.error(), 1};
    return false;
  }
  for (RankEnvironment& environment : world->environments) {
    environment.preload(trace_.library());
    environment.let_sanitizer_start();
  }
  return true;
}

void Job::report_recordings() {
  if (io_times_.begun()) say("mpiexec: " + io_times_.report());
  if (!options_.trace || !trace_.begun()) return;
  say("mpiexec: " + trace_.merge());
  if (!trace_.error().empty() && status_ == 0) status_ = 1;
}

}  // namespace tasuki::launch
