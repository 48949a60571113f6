// What rank 0 tells while the simulation runs: the step, the time per step, the time left, and the change of
// the energy; on a terminal one line that is written over, else a line now and then.
#pragma once

#include <cstdint>

#include "totals.hpp"

namespace spam {

class Progress {
 public:
  /// Silent on other ranks, or where nothing shall be told.
  Progress(bool tells, std::int64_t first_step, std::int64_t last_step);

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Ends the line on the terminal, so that an error begins a new one.
  ~Progress();

  void after_step(std::int64_t step);
  void checked(const Totals& first, const Totals& now);
  void end();

 private:
  void tell(std::int64_t step);

  bool tells_, terminal_;
  bool line_open_ = false;
  std::int64_t first_step_, last_step_;
  double begun_seconds_, told_seconds_;
  double energy_change_ = 0;  // relative
};

}  // namespace spam
