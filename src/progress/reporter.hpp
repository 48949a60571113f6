// Reporter: has a rank's counts published while it waits, so that mpiexec --stats knows them also when the
// rank is killed in a wait. It exists only where they are wanted.
//
// Thread safety: the process lock guards it.
#pragma once

#include "base/variables/counters.hpp"
#include "job/launcher.hpp"
#include "progress/progress.hpp"

namespace tasuki {

class Reporter final : public ProgressHook {
 public:
  Reporter(Launcher& launcher, const Counters& counters) : launcher_(launcher), counters_(counters) {}

  /// Now and then while the rank polls, and always before it falls asleep, which it does only after it has
  /// yielded its processor in vain.
  bool poll() override {
    if (counters_.polls - polls_ < kPolls && counters_.yields == yields_) return false;
    polls_ = counters_.polls;
    yields_ = counters_.yields;
    launcher_.publish();
    return false;
  }

 private:
  static constexpr std::uint64_t kPolls = 64;

  Launcher& launcher_;
  const Counters& counters_;
  std::uint64_t polls_ = 0;
  std::uint64_t yields_ = 0;
};

}  // namespace tasuki
