// When the table may be written.
#include "launch/top/job_top.hpp"

#include <unistd.h>

#include <vector>

#include "base/system/clock.hpp"
#include "launch/doctor/subjects.hpp"

namespace tasuki::launch {

void JobTop::begin(const std::string& program) {
  top_.emplace(TopScreen::Place::kBelow, STDERR_FILENO, "mpiexec: " + program.substr(program.rfind('/') + 1),
               clock_ns());
}

/// Nothing is put between what is written already and waits for the terminal; nor by a job in the
/// background.
void JobTop::show(std::int64_t now_ns) {
  if (!top_ || now_ns < top_->due_ns()) return;
  const std::vector<SubjectWorld> worlds = subjects_of(worlds_);
  if (!top_->look(worlds, now_ns) || !console_.idle()) return;
  if (!top_->on_terminal()) return console_.say(top_->picture(worlds, now_ns));
  const bool foreground = tcgetpgrp(STDERR_FILENO) == getpgrp();
  console_.error().write(foreground ? top_->picture(worlds, now_ns) : top_->leave());
}

void JobTop::hide() {
  if (top_) console_.error().write(top_->leave());
}

void JobTop::end() {
  hide();
  top_.reset();
}

}  // namespace tasuki::launch
