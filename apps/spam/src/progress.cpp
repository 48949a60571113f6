// A rank writes to a pipe of its launcher; whether that one writes to a terminal is what counts.
#include "progress.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

namespace spam {
namespace {

constexpr double kTerminalPauseSeconds = 0.2;
constexpr double kLinePauseSeconds = 5;

bool is_launcher(pid_t process) {
  std::ifstream comm(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(comm, name);
  return name == "mpiexec" || name == "mpirun" || name == "prterun";
}

/// A rank writes to a pipe of its launcher; what counts is where the launcher writes.
bool writes_to_terminal() {
  if (isatty(STDOUT_FILENO) != 0) return true;
  struct stat info;
  const pid_t parent = getppid();
  if (fstat(STDOUT_FILENO, &info) != 0 || !S_ISFIFO(info.st_mode) || !is_launcher(parent)) return false;
  const int fd =
      open(fmt::format("/proc/{}/fd/1", parent).c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  const bool terminal = isatty(fd) != 0;
  close(fd);
  return terminal;
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02} h", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(bool tells, std::int64_t first_step, std::int64_t last_step)
    : tells_(tells),
      terminal_(tells && writes_to_terminal()),
      first_step_(first_step),
      last_step_(last_step),
      begun_seconds_(MPI_Wtime()),
      told_seconds_(begun_seconds_) {}

Progress::~Progress() {
  if (!line_open_) return;
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void Progress::after_step(std::int64_t step) {
  if (tells_ && MPI_Wtime() - told_seconds_ >= (terminal_ ? kTerminalPauseSeconds : kLinePauseSeconds))
    tell(step);
}

void Progress::checked(const Totals& first, const Totals& now) {
  energy_change_ = (now.energy() - first.energy()) / std::max(first.energy(), 1e-300);
}

void Progress::tell(std::int64_t step) {
  told_seconds_ = MPI_Wtime();
  const double step_seconds =
      (told_seconds_ - begun_seconds_) / static_cast<double>(std::max<std::int64_t>(1, step - first_step_));
  std::string line = fmt::format("step {} of {}, {:.3g} ms a step", step, last_step_, 1e3 * step_seconds);
  if (step < last_step_) line += ", left " + duration(step_seconds * static_cast<double>(last_step_ - step));
  line += fmt::format(", energy {:+.1e}", energy_change_);
  // The last line may have been longer: erased to its end, as all terminals of today do.
  fmt::print("{}{}{}", terminal_ ? "\r" : "", line, terminal_ ? "\x1b[K" : "\n");
  std::fflush(stdout);
  line_open_ = terminal_;
}

void Progress::end() {
  if (tells_) tell(last_step_);
}

}  // namespace spam
