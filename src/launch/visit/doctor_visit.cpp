// Finding the job, one examination, printing.
#include "launch/visit/doctor_visit.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/system/clock.hpp"
#include "launch/base/event_loop.hpp"
#include "launch/doctor/examination.hpp"
#include "launch/visit/running_jobs.hpp"

namespace tasuki::launch {
namespace {

bool has_nodes(const RunningJob& job) {
  return std::any_of(job.segments.begin(), job.segments.end(),
                     [](const auto& segment) { return segment->header().nodes > 1; });
}

}  // namespace

std::vector<SubjectWorld> subjects_of(const RunningJob& job) {
  std::vector<SubjectWorld> worlds;
  for (const auto& segment : job.segments) {
    SubjectWorld& world = worlds.emplace_back();
    world.number = segment->header().spawn_number;
    for (int rank = 0; rank < segment->size(); ++rank) {
      world.ranks.push_back({.board = &segment->board(rank), .block = &segment->rank(rank)});
    }
  }
  return worlds;
}

int visit(const Options& options) {
  RunningJob job;
  std::string error;
  if (!find_job(options.job_pid, &job, &error)) {
    std::fprintf(stderr, "mpiexec: %s\n", error.c_str());
    return 1;
  }
  EventLoop loop;
  Examination::Terms terms;
  if (has_nodes(job)) terms.pause_ns = Examination::kNodesPauseNs;
  Examination examination(loop, subjects_of(job), terms);
  while (!examination.looked_up()) {
    if (examination.step() && !examination.looked_up()) examination.look_up();
    const std::int64_t wait_ns = std::max<std::int64_t>(0, examination.due_ns() - clock_ns());
    if (!examination.looked_up()) loop.run_once(static_cast<int>((wait_ns + 999'999) / 1'000'000));
  }
  if (options.doctor == DoctorForm::kJson) {
    std::puts(doctor::json(examination.diagnosis(), examination.snapshot()).c_str());
  } else {
    std::printf("mpiexec %s\n", described_process(job.pid).c_str());
    std::fputs(doctor::text(examination.diagnosis()).c_str(), stdout);
  }
  return 0;
}

}  // namespace tasuki::launch
