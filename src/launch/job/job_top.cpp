// The table of mpiexec --top, below what the ranks write on the terminal.
#include <unistd.h>

#include "base/clock.hpp"
#include "launch/job/job.hpp"

namespace tasuki::launch {

void Job::begin_top() {
  if (!options_.top) return;
  const std::string& program = options_.applications.front().command.front();
  top_ = std::make_unique<Top>(TopScreen::Place::kBelow, STDERR_FILENO,
                               "mpiexec: " + program.substr(program.rfind('/') + 1), clock_ns());
}

/// Nothing is put between what is written already and waits for the terminal; nor by a job in the
/// background.
void Job::show_top() {
  if (top_ == nullptr) return;
  const std::int64_t now = clock_ns();
  if (now < top_->due_ns()) return;
  const std::vector<SubjectWorld> worlds = subjects();
  if (!top_->look(worlds, now) || !output_.idle() || !error_.idle()) return;
  if (!top_->on_terminal()) return say(top_->picture(worlds, now));
  error_.write(tcgetpgrp(STDERR_FILENO) == getpgrp() ? top_->picture(worlds, now) : top_->leave());
}

void Job::hide_top() {
  if (top_ != nullptr) error_.write(top_->leave());
}

}  // namespace tasuki::launch
