// NodeLockUser: what it tells the doctor, and how it ends the job.
#include "job/node_lock_user.hpp"

#include <cstdio>
#include <string_view>

#include "base/calls/call_board.hpp"
#include "base/calls/function.hpp"
#include "base/system/clock.hpp"

namespace tasuki {

bool NodeLockUser::has_died(int number) const {
  answer_doctor(rank_of(number));
  return node_.has_died(rank_of(number));
}

// The report has only what shared memory tells: the rank is in the middle of a call, so its own structures
// are not at rest. The wait began at the first question for that call.
void NodeLockUser::answer_doctor(int holder) const {
  const CallLine& line = board_.line;
  const std::uint64_t word = line.word.load(std::memory_order_relaxed);
  if (waiting_word_.exchange(word, std::memory_order_relaxed) != word)
    waiting_since_ns_.store(clock_ns(), std::memory_order_relaxed);
  const std::uint64_t asked = board_.asked.load(std::memory_order_relaxed);
  if (answered_.exchange(asked, std::memory_order_relaxed) == asked || (word & kInside) == 0) return;
  RankReport report{};
  report.answers = asked;
  report.word = word;
  report.site = line.site.load(std::memory_order_relaxed);
  report.moves = line.moves.load(std::memory_order_relaxed);
  report.since_ns = waiting_since_ns_.load(std::memory_order_relaxed);
  report.awaits = Awaits::kAll;
  report.peer = kNobody;
  report.root = kNobody;
  report.comm_index = -1;
  report.count = -1;
  report.bytes = -1;
  if (holder < kReportedRanksMax) report.either.words[holder / 64] = std::uint64_t{1} << holder % 64;
  const bool of_file = std::string_view(function_facts(function_of(word)).object) == "fh";
  std::snprintf(report.object_name, sizeof report.object_name, "a lock of the %s, held by rank %d",
                of_file ? "file" : "window", holder);
  publish_report(report, &board_);
}

void NodeLockUser::end_dead(int number) const {
  end(": rank " + std::to_string(rank_of(number)) + " (process " +
      std::to_string(node_.process_id(rank_of(number))) +
      ") died while it held a lock in memory that the ranks of its node share");
}

void NodeLockUser::end_damaged(const char* what, std::uint32_t value) const {
  end(std::string(": memory that the ranks of its node share is damaged: ") + what + " is " +
      std::to_string(value) + ", which none of them writes");
}

void NodeLockUser::end(const std::string& why) const {
  launcher_.abort(1, "rank " + std::to_string(node_.rank()) + why);
  __builtin_unreachable();  // gcc does not see that a virtual function never returns
}

}  // namespace tasuki
