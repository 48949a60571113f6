// Taken out of the job segments while they are there, printed when the ranks have ended.
#include "launch/report/reports.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "launch/base/format.hpp"

namespace tasuki::launch {

std::string Reports::begin(World& world) {
  const std::vector<std::string>& command = world.applications.front().command;
  // The first ranks of a host may be spawned ones.
  if (options_.io_times && !io_times_.begun() && !io_times_.begin(options_.io_times_file, command))
    return io_times_.error();
  if (!options_.trace) return {};
  if (!trace_.begun() && !trace_.begin(options_.trace_file, command)) return trace_.error();
  for (RankEnvironment& environment : world.environments) {
    environment.preload(trace_.library());
    environment.let_sanitizer_start();
  }
  return {};
}

void Reports::set_variables(RankEnvironment& environment, const World& world, int rank) const {
  io_times_.set_variables(environment);
  trace_.set_variables(environment, world.number, world.rank_name(rank));
}

void Reports::take_statistics(World& world) {
  if (options_.statistics == StatisticsForm::kNone) return;
  for (int rank = 0; rank < world.size(); ++rank) {
    RankStatistics taken{.name = world.rank_name(rank), .counts = load(world.segment.rank(rank).statistics)};
    taken.started = taken.counts.running_ns != 0;
    statistics_.add(std::move(taken));
  }
  take_shared_bytes(shared_bytes(world));
}

Reports::SharedBytes Reports::shared_bytes(const World& world) {
  struct stat info {};
  if (fstat(world.segment.fd(), &info) != 0) return {};
  return {static_cast<std::uint64_t>(info.st_size), static_cast<std::uint64_t>(info.st_blocks) * 512};
}

void Reports::take_shared_bytes(const SharedBytes& bytes) {
  statistics_.shared_bytes += bytes.all;
  statistics_.shared_bytes_touched += bytes.touched;
}

/// Under a wrapper script the rank is another process than the one that was started. It waits for us.
std::vector<MappedFile> Reports::files_of(const LeakReport& report) const {
  for (const auto& world : worlds_) {
    if (world->segment.job_id() != report.job_id || report.rank < 0 || report.rank >= world->size()) continue;
    const int pid = world->segment.rank(report.rank).claimed_pid.load(std::memory_order_relaxed);
    return pid > 0 ? mapped_files(pid) : std::vector<MappedFile>();
  }
  return {};
}

void Reports::take_leaks(const LeakReport& report) {
  take_leaks(report, files_of(report));
}

void Reports::take_leaks(const LeakReport& report, const std::vector<MappedFile>& files) {
  for (const auto& world : worlds_) {
    if (world->segment.job_id() != report.job_id || report.rank < 0 || report.rank >= world->size()) continue;
    return leaks_.add(world->number, report, files);
  }
}

void Reports::take_recording(int host, const std::string& part, const std::string& bytes) {
  if (part.empty()) {
    io_times_.add(bytes);
  } else {
    trace_.add(host, part, bytes);
  }
}

void Reports::take_clock(int host, const std::string& name, const HostClock& clock) {
  io_times_.set_clock(host, name, clock);
  trace_.set_clock(host, clock);
}

void Reports::note_lost(int, const std::string& name) {
  if (trace_.begun() || io_times_.begun()) lost_hosts_ += (lost_hosts_.empty() ? "'" : ", '") + name + "'";
}

bool Reports::print_all() {
  if (!leaks_.empty()) console_.say(leaks_.text(find_source_lines(leaks_.queries())));
  const bool statistics = print_statistics();
  const bool recordings = print_recordings();
  return statistics && recordings;
}

bool Reports::print_statistics() {
  const StatisticsForm form = options_.statistics;
  if (form == StatisticsForm::kNone) return true;
  for (const auto& world : worlds_) take_statistics(*world);
  if (statistics_.ranks.empty()) return true;
  const bool to_file = !options_.statistics_file.empty();
  const bool bold = !to_file && form != StatisticsForm::kJson && isatty(STDERR_FILENO) != 0;
  const std::string text = statistics_text(form, statistics_, bold);
  if (to_file) {
    std::ofstream file(options_.statistics_file);
    file << text;
    file.close();
    if (file) return true;
    console_.say(format("mpiexec: cannot write '%s': %s", options_.statistics_file.c_str(), strerror(errno)));
    return false;
  }
  if (form == StatisticsForm::kJson) {
    console_.print(text);
  } else {
    console_.say(text.substr(0, text.size() - 1));
  }
  return true;
}

bool Reports::print_recordings() {
  const std::string lost =
      lost_hosts_.empty() ? "" : "; what was recorded on host " + lost_hosts_ + " is lost with it";
  if (io_times_.begun()) console_.say("mpiexec: " + io_times_.report() + lost);
  if (!options_.trace || !trace_.begun()) return true;
  console_.say("mpiexec: " + trace_.merge() + lost);
  if (!trace_.error().empty()) return false;
  if (options_.explain && trace_.made()) console_.say(trace_.explain());
  return true;
}

}  // namespace tasuki::launch
