// A report is read only when its version has changed: the pages of one that never was given stay untouched.
#include "launch/doctor/inquiry.hpp"

#include <algorithm>
#include <memory>

namespace tasuki::launch {

Inquiry::Inquiry(const std::vector<CallBoard*>& boards, std::int64_t now_ns, Patience patience)
    : begun_ns_(now_ns), patience_(patience) {
  for (CallBoard* board : boards) {
    Asked& asked = asked_.emplace_back();
    if (board == nullptr) continue;
    asked.board = board;
    asked.version = board->version.load(std::memory_order_acquire);
    asked.number = board->asked.fetch_add(1, std::memory_order_seq_cst) + 1;
  }
}

void Inquiry::look(Asked* asked) const {
  const std::uint64_t version = asked->board->version.load(std::memory_order_acquire);
  if (version == asked->version || version % 2 != 0) return;
  asked->version = version;
  const auto report = std::make_unique<RankReport>();
  asked->answered = read_report(*asked->board, report.get()) && report->answers >= asked->number;
}

bool Inquiry::over(std::int64_t now_ns) {
  const std::int64_t waited_ns = now_ns - begun_ns_;
  bool over = true;
  for (Asked& asked : asked_) {
    if (asked.board == nullptr || asked.answered) continue;
    look(&asked);
    const bool inside = (asked.board->line.word.load(std::memory_order_relaxed) & kInside) != 0;
    const std::int64_t limit_ns = inside ? patience_.inside_ns : patience_.outside_ns;
    over = over && (asked.answered || waited_ns >= limit_ns);
  }
  return over;
}

}  // namespace tasuki::launch
