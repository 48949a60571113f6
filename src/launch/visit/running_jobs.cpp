// Walking /proc.
#include "launch/visit/running_jobs.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/system/process_state.hpp"
#include "launch/base/format.hpp"
#include "launch/base/numbered_entries.hpp"

namespace tasuki::launch {
namespace {

std::string process_path(int pid, const char* what) {
  return "/proc/" + std::to_string(pid) + "/" + what;
}

/// What is wrong with the last segment that could not be used is left in `error`, if anything was.
RunningJob job_of(int pid, std::string* error) {
  RunningJob job;
  job.pid = pid;
  each_number(process_path(pid, "fd"), [&](int fd) {
    auto segment = std::make_unique<WorldSegment>();
    std::string why;
    if (!segment->open(pid, fd, &why)) {
      if (!why.empty()) *error = why;
    } else if (segment->header().launcher_pid == pid) {  // a rank has its job's memory open as well
      job.segments.push_back(std::move(segment));
    }
  });
  std::sort(job.segments.begin(), job.segments.end(), [](const auto& one, const auto& other) {
    return one->header().spawn_number < other->header().spawn_number;
  });
  return job;
}

bool is_ours(int pid) {
  struct stat info {};
  return stat(process_path(pid, "").c_str(), &info) == 0 && info.st_uid == geteuid();
}

bool find_named(int pid, RunningJob* job, std::string* error) {
  const std::string directory = process_path(pid, "fd");
  if (!each_number(directory, [](int) {})) {
    const int reason = errno;
    *error = reason == ENOENT
                 ? format("--job %d: there is no such process", pid)
                 : format(
                       "--job %d: cannot look into that process: %s (a job can be examined by the user who "
                       "started it alone)",
                       pid, strerror(reason));
    return false;
  }
  *job = job_of(pid, error);
  if (!job->segments.empty()) return true;
  std::string ignored;  // a rank, or the guard (host/guard.hpp), whose name is like that of mpiexec: its
                        // parent is meant
  *job = job_of(state_of_process(pid).parent, &ignored);
  if (!job->segments.empty()) return true;
  *error = format("--job %s: %s", described_process(pid).c_str(),
                  error->empty() ? "is no mpiexec with a job that runs" : error->c_str());
  return false;
}

}  // namespace

std::string described_process(int pid) {
  std::ifstream file(process_path(pid, "cmdline"), std::ios::binary);
  std::string command{std::istreambuf_iterator<char>(file), {}};
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  constexpr std::size_t kShown = 60;
  if (command.size() > kShown) command = command.substr(0, kShown) + " …";
  return std::to_string(pid) + (command.empty() ? "" : " (" + command + ")");
}

std::vector<RunningJob> running_jobs() {
  std::vector<RunningJob> jobs;
  each_number("/proc", [&jobs](int pid) {
    std::string error;
    if (pid == getpid() || !is_ours(pid)) return;
    RunningJob job = job_of(pid, &error);
    if (!job.segments.empty()) jobs.push_back(std::move(job));
  });
  std::sort(jobs.begin(), jobs.end(), [](const auto& one, const auto& other) { return one.pid < other.pid; });
  return jobs;
}

bool find_job(int pid, RunningJob* job, std::string* error) {
  if (pid != 0) return find_named(pid, job, error);
  std::vector<RunningJob> jobs = running_jobs();
  if (jobs.size() == 1) {
    *job = std::move(jobs.front());
    return true;
  }
  if (jobs.empty()) {
    *error = "no job of this user runs on this machine";
    return false;
  }
  *error = format("%zu jobs run; name one by --job PID:", jobs.size());
  for (const RunningJob& one : jobs) *error += "\n  " + described_process(one.pid);
  return false;
}

}  // namespace tasuki::launch
