// RankReporter: answers the question what this rank waits for (base/calls/call_board.hpp). It goes through
// the parts of the Process and writes what they know into the rank's report: nothing is kept for it before
// the question.
//
// It runs inside a wait (Progress), so whatever it looks at is at rest; it changes nothing and waits for
// nothing. Addresses on the line are used only where they are those of a communicator, window or file that
// exists.
//
// Thread safety: the process lock guards it.
#pragma once

#include "base/calls/call_board.hpp"
#include "base/process.hpp"
#include "progress/progress.hpp"

namespace tasuki {

class RankReporter final : public Answerer {
 public:
  explicit RankReporter(Process& process) : process_(process) {}

  void answer(std::uint64_t asked, std::int64_t since_ns) override;

 private:
  Process& process_;
};

/// The report of `process` as it is now.
RankReport report_of(Process& process, std::int64_t since_ns);

}  // namespace tasuki
