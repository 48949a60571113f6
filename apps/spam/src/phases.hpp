// Where a rank's time goes, phase by phase, as the paper's table 1 has it. Of the calling thread; phases do
// not nest.
#pragma once

#include <mpi.h>

#include <array>

namespace spam {

enum class Phase { kForce, kSorting, kExchange, kMove, kRemap, kOutput };
inline constexpr int kPhases = 6;
inline constexpr std::array<const char*, kPhases> kPhaseNames = {"force", "sorting", "exchange",
                                                                 "move",  "remap",   "output"};

class Phases {
 public:
  /// Time runs for `phase` from now on, until the next call.
  void enter(Phase phase) {
    const double now = MPI_Wtime();
    if (running_) seconds_[current_] += now - since_;
    since_ = now;
    current_ = static_cast<std::size_t>(phase);
    running_ = true;
  }
  void leave() {
    if (running_) seconds_[current_] += MPI_Wtime() - since_;
    running_ = false;
  }
  double seconds(Phase phase) const { return seconds_[static_cast<std::size_t>(phase)]; }

 private:
  std::array<double, kPhases> seconds_{};
  std::size_t current_ = 0;
  double since_ = 0;
  bool running_ = false;
};

}  // namespace spam
