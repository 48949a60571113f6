// What the ranks left behind: taken when they say it, and told at the end of the job.
#include "launch/job/job.hpp"

namespace tasuki::launch {

void Job::take_leaks(const LeakReport& report) {
  for (const auto& world : worlds_) {
    if (world->segment.job_id() != report.job_id || report.rank < 0 || report.rank >= world->size()) continue;
    // Under a wrapper script the rank is another process than the one that was started. It waits for us.
    const int pid = world->segment.rank(report.rank).claimed_pid.load(std::memory_order_relaxed);
    leaks_.add(world->number, report, pid > 0 ? mapped_files(pid) : std::vector<MappedFile>());
    return;
  }
}

void Job::report_leaks() {
  if (!leaks_.empty()) say(leaks_.text(find_source_lines(leaks_.queries())));
}

}  // namespace tasuki::launch
